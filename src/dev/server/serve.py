# Runs the agent server. Argument: {"path": [...], "writes_bytecode": whether the environment is agentcli's own,
# "debugger": [host, port, waits] or null, "guard": {...}, "node_guard": URL or null, "queue": [module, class],
# "sockets": descriptors of the sockets to accept connections from, "server": {...}, "standby": null, or {"waits": whether
# this is a standby, "roots": directories of the project, "state": that of the server's state, "modules": file, "without":
# packages that a standby does not import}} as JSON.
import asyncio
import gc
import socket
import time
from importlib.machinery import PathFinder, SourceFileLoader

options = json.loads(sys.argv.pop())
# Loading makes objects that stay: looking for garbage among them again and again is a tenth of the start.
gc.disable()


def write_bytecode_of_packages():
    """Writes the bytecode of the environment's packages, even if PYTHONDONTWRITEBYTECODE forbids that of other files."""
    set_data = SourceFileLoader.set_data

    def set_data_of_packages(self, path, data, **settings):
        if self.path.startswith(sys.prefix + os.sep):
            set_data(self, path, data, **settings)

    SourceFileLoader.set_data = set_data_of_packages
    sys.dont_write_bytecode = False


def write_no_bytecode_of_new_files():
    """Python takes the bytecode of an edit for that of the next one, if both are of the same size and second."""
    SECONDS = 2
    set_data = SourceFileLoader.set_data

    def set_data_of_old_files(self, path, data, **settings):
        is_package = self.path.startswith(sys.prefix + os.sep)
        if is_package or time.time() - os.stat(self.path).st_mtime > SECONDS:
            set_data(self, path, data, **settings)

    SourceFileLoader.set_data = set_data_of_old_files


if options["writes_bytecode"] and sys.dont_write_bytecode:
    write_bytecode_of_packages()
write_no_bytecode_of_new_files()

standby = options["standby"]
has_record = standby and os.path.exists(standby["modules"])
if standby and standby["waits"]:
    stand_by(options, Project(standby["roots"], standby["state"]))
sockets = [socket.socket(fileno=descriptor) for descriptor in options["sockets"]]
for inherited in sockets:
    # Processes of the project may outlive this one.
    inherited.set_inheritable(False)
sys.path.extend(options["path"])


class WorkingDirectory:
    # As in an image, where the server finds modules in its working directory. A place in sys.path would hide editable
    # packages, whose finders come later.
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [os.getcwd()]) if path is None else None


sys.meta_path.append(WorkingDirectory)
if options["node_guard"]:
    os.environ["NODE_OPTIONS"] = os.environ.get("NODE_OPTIONS", "") + " --import=" + options["node_guard"]
if options["debugger"]:
    import debugpy

    host, port, waits = options["debugger"]
    debugpy.listen((host, port))
    if waits:
        debugpy.wait_for_client()

import uvicorn


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


class Config(uvicorn.Config):
    def load(self):
        super().load()
        if self.port in options["guard"]["ports"]:
            self.loaded_app = Guard(self.loaded_app, options["guard"])


# The part for JavaScript has a server of its own.
uvicorn.Config = Config


class Server(uvicorn.Server):
    """A server that ends without the pauses of its base class, and lets the next process have the connections that it has not
    accepted."""

    # In seconds. The first is for requests of the connections that were accepted last.
    ON_THE_WAY = 0.02
    INTERVAL = 0.005
    wake = staticmethod(lambda: None)

    async def startup(self, sockets=None):
        module, queue = options["queue"]
        # Another version may have another queue, which works as it is.
        with contextlib.suppress(ImportError, AttributeError):
            wake_queue(getattr(import_module(module), queue))
        await super().startup(sockets)
        # What is loaded stays.
        gc.freeze()
        gc.enable()
        if not has_record:
            await self.record_modules()

    async def record_modules(self):
        if standby:
            # In a thread, since the server refuses blocking calls by now.
            await asyncio.to_thread(record_modules, standby["modules"])

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
        await asyncio.gather(asyncio.sleep(self.ON_THE_WAY), self.record_modules())
        for connection in list(state.connections):
            connection.shutdown()
        deadline = time.monotonic() + self.config.timeout_graceful_shutdown
        while (state.connections or state.tasks) and not self.force_exit and time.monotonic() < deadline:
            await asyncio.sleep(self.INTERVAL)
        for task in list(state.tasks):
            task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()


server = Server(Config(**options["server"]))
server.run(sockets)
if not server.started:
    sys.exit(3)
