# Runs the agent server. Argument: {"path": [...], "debugger": [host, port, waits] or null, "server": {...}} as JSON.
import json
import sys

options = json.loads(sys.argv.pop())
sys.path.extend(options["path"])
if options["debugger"]:
    import debugpy

    host, port, waits = options["debugger"]
    debugpy.listen((host, port))
    if waits:
        debugpy.wait_for_client()

import uvicorn

uvicorn.run(**options["server"])
