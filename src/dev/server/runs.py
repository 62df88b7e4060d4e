# Tells dev of each run, in a line for it, and adds to the error of a run where it failed.
import logging
import re
import traceback
import warnings

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp


class Tell:
    """Writes lines for dev. Each is a mark and JSON."""

    MOST_NODES = 50
    LONGEST = 500

    @classmethod
    def event(cls, **parts):
        parts = {name: value[: cls.LONGEST] if isinstance(value, str) else value for name, value in parts.items()}
        print(options["tells"] + json.dumps({"time": time.strftime("%H:%M:%S"), **parts}), flush=True)


class Runs(BaseCallbackHandler):
    """Follows the runs of the server; those that the project's code starts by itself have no graph of the server."""

    run_inline = True

    def __init__(self):
        # By the IDs of their parts.
        self.runs = {}
        # The server refuses calls that block, and each of these asks the system.
        self.directory = os.getcwd()
        self.roots = Project.inside([self.directory, *options["path"]])
        self.others = Project.inside([sys.prefix, sys.base_prefix])

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, metadata=None, name=None, **_):
        metadata = metadata or {}
        if parent_run_id is None:
            if "graph_id" in metadata and "run_attempt" in metadata:
                self.runs[run_id] = {"id": run_id, "graph": metadata["graph_id"], "start": time.monotonic(), "nodes": []}
            return
        run = self.runs.get(parent_run_id)
        if not run:
            return
        self.runs[run_id] = run
        node = metadata.get("langgraph_node")
        if parent_run_id == run["id"] and name == node and len(run["nodes"]) < Tell.MOST_NODES:
            run["nodes"].append(node)
        if name == node:
            run.setdefault("names", {})[run_id] = node

    def on_chain_end(self, outputs, *, run_id, **_):
        self.end(run_id, None)

    def on_chain_error(self, error, *, run_id, **_):
        self.end(run_id, error)

    def end(self, part, error):
        run = self.runs.pop(part, None)
        if not run:
            return
        if isinstance(error, GraphBubbleUp):
            run["waits"] = True
        elif error is not None and "failed" not in run and part in run.get("names", {}):
            run["failed"] = run["names"][part]
        if part != run["id"]:
            return
        for other in [other for other, its in self.runs.items() if its is run]:
            del self.runs[other]
        report = {"run": str(part), "graph": run["graph"], "nodes": run["nodes"], "milliseconds": round((time.monotonic() - run["start"]) * 1000)}
        if isinstance(error, asyncio.CancelledError) or type(error).__name__ in ("UserInterrupt", "UserRollback"):
            Tell.event(event="run", status="stopped", **report)
        elif error is None or isinstance(error, GraphBubbleUp):
            Tell.event(event="run", status="interrupted" if run.get("waits") else "ok", **report)
        else:
            where = {"node": run.get("failed"), "place": self.place_of(error)}
            with contextlib.suppress(AttributeError):
                error.agentcli_where = where
            Tell.event(event="run", status="failed", error=f"{type(error).__name__}: {error}", **where, **report)

    def place_of(self, error):
        """The last frame of the project in the traceback of an error."""
        place = None
        for frame, line in traceback.walk_tb(error.__traceback__):
            path = frame.f_code.co_filename
            if path.startswith(self.roots) and not path.startswith(self.others) and "site-packages" not in path:
                place = f"{os.path.relpath(path, self.directory)}:{line}"
        return place


def say_where(serde):
    """The server hides the messages of most errors from its clients, which here are its developers."""
    default = serde.default

    def default_with_place(obj):
        found = default(obj)
        if isinstance(obj, BaseException) and isinstance(found, dict) and hasattr(obj, "agentcli_where"):
            where = {name: value for name, value in obj.agentcli_where.items() if value}
            return {**found, "message": str(obj), **where}
        return found

    serde.default = default_with_place


class Told(logging.Filter):
    """Leaves out what dev tells in a line of its own."""

    PATTERN = re.compile(r"Background run failed\. |Run encountered an error in graph|[A-Z]+ \S+ 4\d\d \d+ms")
    # A client has left as its run ended.
    LATE = "No runs found to cancel"

    def filter(self, record):
        parts = record.msg if isinstance(record.msg, dict) else {"event": record.msg}
        error = f"{parts.get('exc_info')} {parts.get('exception')} {record.exc_info}"
        return self.PATTERN.match(str(parts.get("event"))) is None and self.LATE not in error


class Requests:
    """Tells of requests that were refused."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, detail = 0, b""

        async def watch(message):
            nonlocal status, detail
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= 400 and len(detail) < Tell.LONGEST:
                detail += message.get("body", b"")
            await send(message)

        await self.app(scope, receive, watch)
        if status >= 400 and scope["path"] != "/favicon.ico":
            text = detail.decode(errors="replace")
            with contextlib.suppress(ValueError, KeyError, TypeError):
                text = str(json.loads(detail)["detail"])
            Tell.event(event="request", method=scope["method"], path=scope["path"], status=status, detail=text)


def tell_of_runs():
    from contextvars import ContextVar

    from langgraph_api import serde

    register_configure_hook(ContextVar("agentcli_runs", default=Runs()), inheritable=True)
    say_where(serde)
    # Each run without a thread causes it.
    warnings.filterwarnings("ignore", message="`durability` has no effect")
    if options["is_quiet"]:
        for name in ("langgraph_api.asyncio", "langgraph_api.server", "langgraph_api.worker"):
            logging.getLogger(name).addFilter(Told())


tell_of_runs()


