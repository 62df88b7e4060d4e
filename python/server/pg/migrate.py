"""Makes the tables of the server, or brings them up to date, once for all replicas."""

import asyncio
import os
import sys
import time

import psycopg
from langgraph_runtime_pg.checkpoint import setup_checkpointer, teardown_checkpointer
from langgraph_runtime_pg.database import to_psycopg_uri
from langgraph_runtime_pg.migrate import upgrade_head
from langgraph_runtime_pg.store import setup_store, teardown_store

# Any number that nothing else in the database locks.
LOCK = 0x6167656E74636C69


async def set_up():
    await setup_checkpointer()
    await setup_store()
    await teardown_store()
    await teardown_checkpointer()


def main():
    try:
        with psycopg.connect(to_psycopg_uri(), autocommit=True, connect_timeout=10) as connection:
            # Not one statement that waits: an index that another process makes would wait for its end.
            while not connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()[0]:
                time.sleep(0.2)
            revision = upgrade_head()
            asyncio.run(set_up())
    except (psycopg.Error, OSError) as error:
        # Neither the address nor the password, which are quoted where an address cannot be parsed.
        is_invalid = isinstance(error, psycopg.ProgrammingError) and not error.sqlstate
        reason = "its address is invalid" if is_invalid else f"{type(error).__name__}: {str(error).splitlines()[0]}"
        sys.exit(f"cannot migrate the database: {reason}")
    print(f"the database is at revision {revision}")


if "DATABASE_URI" not in os.environ:
    sys.exit("cannot migrate the database: DATABASE_URI is not set")
main()
