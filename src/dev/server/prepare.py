# Prepares what runs the agent server, up to the end of a standby's wait. Argument: {"path": [...], "files": the directory of
# further modules of the server or null, "writes_bytecode": whether the environment is agentcli's own,
# "debugger": [host, port, waits] or null, "tells": what marks lines for dev, "is_quiet": whether only those are wanted, "guard": {...}, "node_guard": URL or null,
# "sockets": descriptors of the sockets to accept connections from, "server": {...}, "standby": null, or {"waits": whether
# this is a standby, "roots": directories of the project, "state": that of the server's state, "modules": file, "without":
# packages that a standby does not import}} as JSON.
import asyncio
import gc
import socket
import time
from importlib.machinery import SourceFileLoader

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

if options["files"]:
    sys.path.append(options["files"])
standby = options["standby"]
has_record = standby and os.path.exists(standby["modules"])
if standby and standby["waits"]:
    stand_by(options, Project(standby["roots"], standby["state"], options["files"]))
sockets = [socket.socket(fileno=descriptor) for descriptor in options["sockets"]]
for inherited in sockets:
    # Processes of the project may outlive this one.
    inherited.set_inheritable(False)
use_paths(options)


if options["node_guard"]:
    os.environ["NODE_OPTIONS"] = os.environ.get("NODE_OPTIONS", "") + " --import=" + options["node_guard"]
if options["debugger"]:
    import debugpy

    host, port, waits = options["debugger"]
    debugpy.listen((host, port))
    if waits:
        debugpy.wait_for_client()

