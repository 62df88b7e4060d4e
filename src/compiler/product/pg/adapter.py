"""Fits langgraph-runtime-pg to the version of langgraph-api in this image, for which it was not made."""

import sys
from importlib.metadata import version
from types import SimpleNamespace

VERSIONS = {"langgraph-api": "0.16.7", "langgraph-runtime-pg": "0.11.1.post1"}

for package, expected in VERSIONS.items():
    if version(package) != expected:
        sys.exit(f"the image has {package} {version(package)}, and the adapter is for {expected}: build the image again")

from langgraph_api.middleware.ensure_store import EnsureStoreAccessible
from langgraph_api.serde import json_dumpb
from langgraph_runtime_pg import database, ops
from starlette.exceptions import HTTPException


def create_engine(*args, create=database.create_async_engine, **options):
    """The engine with the serializer of the server, which knows users, dates and messages."""
    return create(*args, json_serializer=lambda value: json_dumpb(value).decode(), **options)


def fit_runs(runs):
    """Runs with the arguments and the answers that the server expects."""
    cancel, get = runs.cancel, runs.get

    async def cancel_with_reason(*args, reason=None, **options):
        # The reason is for metrics, which this runtime does not have.
        await cancel(*args, **options)

    async def get_at_once(conn, run_id, **options):
        # The server asks for the thread at the same time. If that fails, the session is closed: not between these queries.
        async with conn._lock:
            return await get(SimpleNamespace(session=conn._raw_session), run_id, **options)

    runs.cancel = staticmethod(cancel_with_reason)
    runs.get = staticmethod(get_at_once)


def fit_crons(crons):
    """Crons whose end time can be removed."""
    update = crons.update

    async def update_and_clear(conn, *, cron_id, clear_end_time=False, end_time=None, **options):
        if not clear_end_time:
            return await update(conn, cron_id=cron_id, end_time=end_time, **options)
        if all(value is None for name, value in options.items() if name != "ctx"):
            # Something has to change, or the update is refused.
            found = [row async for row in await crons.get(conn, cron_id, ctx=options.get("ctx"))]
            if not found:
                raise HTTPException(status_code=404, detail=f"Cron '{cron_id}' not found")
            options["enabled"] = found[0]["enabled"]
        rows = [row async for row in await update(conn, cron_id=cron_id, **options)]
        row = await ops._aget_cron(conn.session, ops._ensure_uuid(cron_id))
        row.end_time = None
        await conn.session.flush()

        async def updated():
            for found in rows:
                yield {**found, "end_time": None}

        return updated()

    crons.update = staticmethod(update_and_clear)


def fit_store(middleware):
    """A custom app that starts before the store does: it is what starts the store."""
    call = middleware.__call__

    async def call_once_started(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        else:
            await call(self, scope, receive, send)

    middleware.__call__ = call_once_started


database.create_async_engine = create_engine
fit_store(EnsureStoreAccessible)
fit_runs(ops.Runs)
fit_crons(ops.Crons)

from langgraph_api.server import app  # noqa: E402, F401
