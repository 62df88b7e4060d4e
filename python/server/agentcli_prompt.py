# The server of `dev` and of images: it starts and ends without pauses.
import asyncio
import contextlib
import gc
import os
import time
from importlib import import_module

import uvicorn

# Loading makes objects that stay: looking for garbage among them again and again is a tenth of the start.
gc.disable()


def wake_queue(queue):
    """Lets a new run start at once: by itself, the queue looks for runs at intervals, and passes over those of the last."""
    INTERVAL = 0.5
    put, next_runs = queue.put, queue.next
    loop, added = asyncio.get_running_loop(), asyncio.Event()

    async def put_and_wake(*arguments, **settings):
        runs = await put(*arguments, **settings)
        loop.call_soon_threadsafe(added.set)
        return runs

    async def next_runs_when_woken(wait, *arguments, **settings):
        if wait:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(added.wait(), INTERVAL)
        added.clear()
        async for run in next_runs(False, *arguments, **settings):
            yield run

    queue.put, queue.next = staticmethod(put_and_wake), staticmethod(next_runs_when_woken)


class PromptServer(uvicorn.Server):
    """A server that ends without the pauses of its base class, and lets the next process have the connections that it has not
    accepted."""

    # In seconds. The first is for requests of the connections that were accepted last.
    ON_THE_WAY = 0.02
    INTERVAL = 0.005
    # The module and the class whose `put` adds a run, and whose `next` looks for the runs to start: at intervals, of which it
    # skips the wait if the argument `wait` is false.
    QUEUE = ("langgraph_runtime_inmem.ops", "Runs")
    wake = staticmethod(lambda: None)

    async def startup(self, sockets=None):
        # Another version may have another queue, which works as it is.
        with contextlib.suppress(ImportError, AttributeError):
            if os.environ.get("LANGGRAPH_RUNTIME_EDITION") == "inmem":
                module, queue = self.QUEUE
                wake_queue(getattr(import_module(module), queue))
        await super().startup(sockets)
        # What is loaded stays.
        gc.freeze()
        gc.enable()

    def handle_exit(self, *arguments):
        super().handle_exit(*arguments)
        self.wake()

    async def main_loop(self):
        loop, ticks = asyncio.get_running_loop(), asyncio.ensure_future(super().main_loop())
        self.wake = lambda: loop.call_soon_threadsafe(ticks.cancel)
        await asyncio.wait([ticks])

    async def shutdown(self, sockets=None):
        state = self.server_state
        for listener in [*self.servers, *(sockets or [])]:
            listener.close()
        await asyncio.sleep(self.ON_THE_WAY)
        for connection in list(state.connections):
            connection.shutdown()
        deadline = time.monotonic() + self.config.timeout_graceful_shutdown
        while (state.connections or state.tasks) and not self.force_exit and time.monotonic() < deadline:
            await asyncio.sleep(self.INTERVAL)
        for task in list(state.tasks):
            task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()
