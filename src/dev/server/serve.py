# Runs the agent server. Argument: {"path": [...], "writes_bytecode": whether the environment is agentcli's own,
# "debugger": [host, port, waits] or null, "guard": {...}, "node_guard": URL or null, "queue": [module, class],
# "server": {...}, "standby": null, or {"waits": whether this is a standby, "roots": directories of the project, "state": that
# of the server's state, "modules": file, "without": packages that a standby does not import}} as JSON.
import asyncio
import gc
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


if options["writes_bytecode"] and sys.dont_write_bytecode:
    write_bytecode_of_packages()

standby = options["standby"]
project = Project(standby["roots"], standby["state"]) if standby else None
if standby and standby["waits"]:
    stand_by(options, project)
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
    async def startup(self, sockets=None):
        module, queue = options["queue"]
        # Another version may have another queue, which works as it is.
        with contextlib.suppress(ImportError, AttributeError):
            wake_queue(getattr(import_module(module), queue))
        try:
            await super().startup(sockets)
            if standby:
                # In a thread, since the server refuses blocking calls by now.
                await asyncio.to_thread(record_modules, standby["modules"], project)
        finally:
            gc.enable()


server = Server(Config(**options["server"]))
server.run()
if not server.started:
    sys.exit(3)
