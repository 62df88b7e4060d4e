"""Fits langgraph-runtime-pg to the version of langgraph-api beside it, for which it was not made."""

import asyncio
import contextlib
import os
import sys
import threading
import time
from importlib.metadata import version
from types import SimpleNamespace

VERSIONS = {"langgraph-api": "0.16.7", "langgraph-runtime-pg": "0.11.1.post1"}

for package, expected in VERSIONS.items():
    if version(package) != expected:
        sys.exit(f"{package} {version(package)} is installed, and the adapter of agentcli is for {expected}: install it again")

import psycopg
import redis
import sqlalchemy.exc
from langgraph_runtime_pg import checkpoint, database, ops, queue, redis_stream, retry, store
from psycopg_pool import AsyncConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff

# Before the server is imported, which reads them once. A run that one of them ends is tried again, by this server or another.
retry.RETRIABLE_EXCEPTIONS += (
    psycopg.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.OperationalError,
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
)

from langgraph_api.middleware.ensure_store import EnsureStoreAccessible
from langgraph_api.serde import json_dumpb
from starlette.exceptions import HTTPException

# The most connections to the database; 0 for the defaults of the runtime.
CONNECTIONS = int(os.environ.get("LANGGRAPH_POSTGRES_POOL_MAX_SIZE") or 0)


def create_engine(*args, create=database.create_async_engine, **options):
    """The engine with the serializer of the server, which knows users, dates and messages."""
    if CONNECTIONS:
        options |= {"pool_size": max(CONNECTIONS // 2, 1), "max_overflow": 0}
    return create(*args, json_serializer=lambda value: json_dumpb(value).decode(), **options)


def create_pool(*args, **options):
    """A pool that replaces the connections of before a restart of the database, instead of failing with each of them."""
    if CONNECTIONS:
        # One pool is for checkpoints, one for the store.
        options["max_size"] = max(CONNECTIONS // 4, 1)
    return AsyncConnectionPool(*args, check=AsyncConnectionPool.check_connection, **options)


def fit_keys(stream, prefix):
    """Keys and channels with a prefix, which separates the servers that share one Redis."""

    def with_prefix(key):
        return lambda *args: prefix + key(*args)

    for name in ("_heartbeat_key", "_stream_key", "_control_key", "_fanout_channel", "_thread_fanout_channel"):
        setattr(stream, name, with_prefix(getattr(stream, name)))
    stream.QUEUE_WAKE_CHANNEL = prefix + stream.QUEUE_WAKE_CHANNEL
    # A user who is limited to these channels may subscribe to exactly this pattern. Other channels are skipped.
    stream.RUN_FANOUT_PATTERN = stream.THREAD_FANOUT_PATTERN = prefix + "*"
    channel = stream._channel_str
    stream._channel_str = lambda given: channel(given).removeprefix(prefix)


def keep_alive(stream, queue):
    """Heartbeats of all runs from a thread: while code of a graph blocks the event loop, no other replica takes them up."""

    def runs():
        tasks = [task for task in queue._workers_snapshot() if isinstance(task, asyncio.Task) and not task.done()]
        return {task.get_name().removeprefix("run-").rpartition("-attempt-")[0] for task in tasks}

    def beat():
        client = redis.Redis.from_url(stream._sanitize_redis_uri(stream._require_redis_uri()), socket_timeout=5)
        while True:
            time.sleep(stream.heartbeat_refresh_interval_secs())
            with contextlib.suppress(redis.exceptions.RedisError):
                beating = runs()
                for run in beating:
                    client.set(stream._heartbeat_key(run), b"1", ex=stream._heartbeat_ttl_secs())
                # Those that have ended meanwhile.
                for run in beating - runs():
                    client.delete(stream._heartbeat_key(run))

    start = database.start_stream

    async def start_with_heartbeats():
        await start()
        threading.Thread(target=beat, name="heartbeats", daemon=True).start()

    database.start_stream = start_with_heartbeats
    # The queue looks for runs without one after twice this time.
    queue.bg_job_heartbeat_secs = lambda: stream.bg_job_heartbeat_secs() / 2


def fit_streams(manager):
    """Streams of runs of another replica, from their start."""
    restore = manager.arestore_messages

    async def restore_all(self, run_id, thread_id, message_id):
        # Clients ask for the start with -1, which is no ID of Redis.
        return await restore(self, run_id, thread_id, "0-0" if message_id == "-1" else message_id)

    manager.arestore_messages = restore_all


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


def survive_restarts(stream, runs):
    """Commands to Redis that wait while it restarts, and no start of a run while it is gone: that would take its attempts."""
    settings, next_runs = stream._redis_pool_kwargs(), runs.next
    # Ten seconds in all.
    retry = Retry(ExponentialBackoff(base=0.1, cap=1), 12)
    stream._redis_pool_kwargs = lambda: {**settings, "retry": retry}

    async def next_runs_once_possible(*args, **options):
        with contextlib.suppress(redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            await stream._REDIS.ping()
            async for run in next_runs(*args, **options):
                yield run

    runs.next = staticmethod(next_runs_once_possible)


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
checkpoint.AsyncConnectionPool = store.AsyncConnectionPool = create_pool
if prefix := os.environ.get("REDIS_KEY_PREFIX"):
    fit_keys(redis_stream, prefix)
keep_alive(redis_stream, queue)
fit_streams(redis_stream.StreamManager)
fit_store(EnsureStoreAccessible)
fit_runs(ops.Runs)
survive_restarts(redis_stream, ops.Runs)
fit_crons(ops.Crons)

from langgraph_api.server import app  # noqa: F401
