"""Sends each request to the next of some servers, which it waits for.

Usage: robin.py PORT HOST:PORT…
"""

import asyncio
import itertools
import re
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def connect(server):
    host, port = server.rsplit(":", 1)
    while True:
        try:
            return await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(0.1)


async def serve(servers, reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    # One request a connection, so that the next one goes to another server.
    head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head).replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    answers, requests = await connect(next(servers))
    requests.write(head)
    await asyncio.gather(copy(reader, requests), copy(answers, writer))


async def main():
    servers = itertools.cycle(sys.argv[2:])
    async with await asyncio.start_server(lambda *streams: serve(servers, *streams), "127.0.0.1", sys.argv[1]) as server:
        await server.serve_forever()


asyncio.run(main())
