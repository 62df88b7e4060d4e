"""Asks the server of this container for its health, without a proxy."""

import json
import os
import sys
import urllib.request

port = os.environ.get("PORT", "8000")
given = os.environ.get("LANGGRAPH_MOUNT_PREFIX") or os.environ.get("MOUNT_PREFIX")
prefix = given or json.loads(os.environ.get("LANGGRAPH_HTTP", "{}")).get("mount_prefix") or ""
url = f"http://127.0.0.1:{port}{prefix}/ok"
try:
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5)
except OSError as error:
    sys.exit(f"{url}: {error}")
