"""Asks the server of this container for its health, without a proxy."""

import json
import os
import sys
import urllib.request


def address(environment):
    port = environment.get("PORT") or "8000"
    given = environment.get("LANGGRAPH_MOUNT_PREFIX") or environment.get("MOUNT_PREFIX")
    prefix = given or json.loads(environment.get("LANGGRAPH_HTTP", "{}")).get("mount_prefix") or ""
    return f"http://127.0.0.1:{port}{prefix}/ok"


def main():
    url = address(os.environ)
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5)
    except OSError as error:
        sys.exit(f"{url}: {error}")


if __name__ == "__main__":
    main()
