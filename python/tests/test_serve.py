import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from unittest import mock

SERVER = Path(__file__).parent.parent / "server"
sys.path.insert(0, str(SERVER))

from serve import check_state

APPLICATION = """
import asyncio, json, os
import shared

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                open("ended", "w").close()
                return
    status = 200 if scope["path"] == "/ok" else 404
    body = json.dumps([shared.WHERE, os.environ["MODE"]]).encode()
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})
"""


class Serve(unittest.TestCase):
    def setUp(self):
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.files, self.project = directory / "api", directory / "project"
        self.files.mkdir()
        self.project.mkdir()
        for name in ["serve.py", "agentcli_prompt.py", "healthcheck.py"]:
            shutil.copy(SERVER / name, self.files)
        settings = {"application": "application:app", "environment": {"MODE": "of the server"}}
        (self.files / "server.json").write_text(json.dumps(settings))
        (self.files / "logging.json").write_text('{"version": 1}')
        (self.files / "application.py").write_text(APPLICATION)
        (self.files / "shared.py").write_text("WHERE = 'beside the server'")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])

    def run_program(self, name, **variables):
        environment = {**os.environ, "PORT": self.port, "MODE": "of the container", **variables}
        return subprocess.Popen(
            [sys.executable, self.files / name], cwd=self.project, env=environment, stderr=subprocess.PIPE, text=True
        )

    def answer(self):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + 30
        while True:
            try:
                with opener.open(f"http://127.0.0.1:{self.port}/ok") as answer:
                    return json.load(answer)
            except urllib.error.URLError:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)

    def serve(self):
        server = self.run_program("serve.py")
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        return server

    def test_runs_the_application_with_its_variables_and_ends_promptly(self):
        server = self.serve()
        self.assertEqual(self.answer(), ["beside the server", "of the server"])
        check = self.run_program("healthcheck.py")
        self.assertEqual((check.communicate(timeout=30)[1], check.returncode), ("", 0))
        start = time.monotonic()
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(10), 0)
        self.assertLess(time.monotonic() - start, 2)
        self.assertTrue((self.project / "ended").exists())

    def test_modules_of_the_project_come_before_those_beside_the_server(self):
        (self.project / "shared.py").write_text("WHERE = 'in the project'")
        self.serve()
        self.assertEqual(self.answer()[0], "in the project")

    def test_says_what_is_wrong(self):
        server = self.run_program("serve.py", PORT="http")
        self.assertEqual(server.communicate(timeout=30)[1], "PORT is `http`, which is no number\n")
        self.assertEqual(server.returncode, 1)
        check = self.run_program("healthcheck.py")
        self.assertIn(f"http://127.0.0.1:{self.port}/ok: ", check.communicate(timeout=30)[1])
        self.assertEqual(check.returncode, 1)
        (self.files / "application.py").write_text("raise ImportError('no such module')")
        broken = self.run_program("serve.py")
        self.assertIn("no such module", broken.communicate(timeout=30)[1])
        self.assertNotEqual(broken.returncode, 0)

    def test_needs_to_write_its_state(self):
        (self.project / ".langgraph_api").mkdir()
        # Root may write everywhere.
        refused = mock.patch("os.access", return_value=False)
        message = f"cannot write the state to {(self.project / '.langgraph_api').resolve()}; make it the owner"
        with contextlib.chdir(self.project), refused, self.assertRaisesRegex(SystemExit, message):
            check_state()
