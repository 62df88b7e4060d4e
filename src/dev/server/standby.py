# A standby imports what a running server of the same environment has imported, reads no file of the project, and waits for a
# line on stdin that lets it serve.
import contextlib
import os
import sys
import traceback
from importlib import import_module, invalidate_caches
from importlib.machinery import PathFinder
from types import ModuleType

# Packages that are left out one after the other. If more read the project, a standby imports nothing.
MOST_ATTEMPTS = 3


class Project:
    """Tells the files of the project from those of the environment and of Python, which may be inside of each other."""

    def __init__(self, roots, state, files):
        self.roots = self.inside(roots)
        self.state = self.inside([state])
        self.others = self.inside([sys.prefix, sys.base_prefix, sys.base_exec_prefix] + [files] * bool(files))

    @staticmethod
    def inside(directories):
        paths = [convert(directory) for directory in directories for convert in (os.path.abspath, os.path.realpath)]
        return tuple(os.path.join(path, "") for path in paths)

    def is_state(self, path):
        return os.path.abspath(os.fsdecode(path)).startswith(self.state)

    def owns(self, path):
        path = os.path.join(os.path.abspath(os.fsdecode(path)), "")
        depth, other_depth = (max((len(it) for it in all if path.startswith(it)), default=0) for all in (self.roots, self.others))
        is_code = path.endswith((".py/", ".pyc/", ".so/"))
        return depth > other_depth or (is_code and not other_depth)


class OfProject(BaseException):
    """Stops the import of a module that reads a file of the project."""


def record_modules(path):
    """Writes the names and files of the modules that this process has imported, in their order."""
    files = {name: vars(module).get("__file__") for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)}
    files = {name: file for name, file in files.items() if isinstance(file, str)}
    with contextlib.suppress(OSError):
        with open(path + ".new", "w") as file:
            json.dump(files, file)
        os.replace(path + ".new", path)


def recorded_modules(path, project, without):
    """The names of the modules that the last server has recorded, but for those of the project."""
    files = {}
    with contextlib.suppress(OSError), open(path) as file:
        files = json.load(file)
    return [name for name, file in files.items() if name.partition(".")[0] not in without and not project.owns(file)]


def import_modules(names, project):
    """Imports these modules. Returns the one at which it was stopped, if one reads a file of the project."""
    importing, is_stopped = True, False

    def stop(event, arguments):
        nonlocal is_stopped
        # The other values of `open` are descriptors, which were opened before.
        if importing and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)) and project.owns(arguments[0]):
            # Modules that read the server's state as they are imported can be imported again.
            is_stopped = is_stopped or not project.is_state(arguments[0])
            raise OfProject

    sys.addaudithook(stop)
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if not project.owns(entry)]
    for name in names:
        with contextlib.suppress(Exception, OfProject):
            import_module(name)
        if is_stopped:
            return name
    importing = False
    sys.path[:] = path + [entry for entry in sys.path if entry not in path]


@contextlib.contextmanager
def in_the_background():
    """Lets the running server have the processor, where this can be undone without privileges."""
    policy = None
    with contextlib.suppress(AttributeError, OSError):
        policy = os.sched_getscheduler(0)
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    yield
    with contextlib.suppress(AttributeError, OSError):
        if policy is not None:
            os.sched_setscheduler(0, policy, os.sched_param(0))


class WorkingDirectory:
    # As in an image, where the server finds modules in its working directory. A place in sys.path would hide editable
    # packages, whose finders come later.
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [os.getcwd()]) if path is None else None


def use_paths(options):
    """Lets Python find the modules of the project."""
    sys.path.extend(options["path"])
    sys.meta_path.append(WorkingDirectory)


def load(options):
    """Loads the graphs, the app and the authentication of the project as the server does."""
    invalidate_caches()
    use_paths(options)
    import_module(options["server"]["app"].partition(":")[0])
    asyncio.run(import_module("langgraph_api.graph").collect_graphs_from_env())


def try_to_load(options):
    """Loads the project in a copy of this process, so that nothing of it stays here, and tells dev whether it loads."""
    loads = True
    if hasattr(os, "fork"):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            # What it prints comes before what is told of it.
            os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
            code = 1
            try:
                load(options)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        loads = status == 0
    print(options["tells"] + json.dumps({"event": "tried", "loads": loads}), flush=True)


def stand_by(options, project):
    """Imports the modules that the last server has recorded, and returns when it is time to serve."""
    standby, environment = options["standby"], dict(os.environ)
    gives_up = len(standby["without"]) > MOST_ATTEMPTS
    with in_the_background():
        names = [] if gives_up else recorded_modules(standby["modules"], project, standby["without"])
        stopped_at = import_modules(names, project)
    if stopped_at:
        # What is half imported cannot be undone: begins again without this package.
        standby["without"].append(stopped_at.partition(".")[0])
        os.execve(sys.executable, [*sys.orig_argv[:-1], json.dumps(options)], environment)
    while (line := sys.stdin.readline()) == "try\n":
        try_to_load(options)
    if not line:
        sys.exit()
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    invalidate_caches()


