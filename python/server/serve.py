"""Runs the agent server of an image, with the settings in server.json."""

import atexit
import json
import os
import sys
from pathlib import Path

import uvicorn
from agentcli_prompt import PromptServer

FILES = Path(__file__).parent
# Seconds for open responses when the server is stopped: with the 5 that it gives its runs then, less than the 10 after which
# engines kill it.
GRACE = 3
# Where the server in memory writes its state: in an image, a link to the volume.
STATE = Path(".langgraph_api")


class ImageServer(PromptServer):
    async def shutdown(self, sockets=None):
        await super().shutdown(sockets)
        # Its state is written, and its runs are given up. Python would wait for threads in which they still are: the signal
        # that uvicorn raises instead does not end the first process of a container.
        atexit._run_exitfuncs()
        os._exit(0)


def port():
    text = os.environ.get("PORT") or "8000"
    return int(text) if text.isdecimal() else sys.exit(f"PORT is `{text}`, which is no number")


def check_state():
    if STATE.is_dir() and not os.access(STATE, os.W_OK):
        user = os.getuid()
        sys.exit(f"user {user} cannot write the state to {STATE.resolve()}; make it the owner: `chown {user} DIRECTORY`")


def main():
    check_state()
    settings = json.loads((FILES / "server.json").read_text())
    # They overrule those of the container.
    os.environ.update(settings["environment"])
    # As with `python3 -m`, modules of the working directory come first; those beside this file come last.
    sys.path[0] = os.getcwd()
    sys.path.append(str(FILES))
    config = uvicorn.Config(
        settings["application"],
        host="0.0.0.0",
        port=port(),
        access_log=False,
        lifespan="on",
        log_config=str(FILES / "logging.json"),
        timeout_graceful_shutdown=GRACE,
    )
    server = ImageServer(config)
    server.run()
    if not server.started:
        sys.exit(3)


if __name__ == "__main__":
    main()
