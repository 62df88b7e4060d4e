"""A setup of `agentcli up` under test, on the engine at DOCKER_HOST.

The program is that of AGENTCLI_PROGRAM, or target/debug/agentcli.
"""
import contextlib, http.client, json, os, pathlib, shutil, socket, subprocess, sys, tempfile, time

PROGRAM = pathlib.Path(os.environ.get("AGENTCLI_PROGRAM") or "target/debug/agentcli").resolve()
PATIENCE = 120  # seconds

AGENT = """
import time

from typing_extensions import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    number: int
    seconds: float


def add(state):
    time.sleep(state.get("seconds", 0))
    return {"number": state["number"] + 1}


graph = StateGraph(State).add_node("add", add).add_edge(START, "add").add_edge("add", END).compile()
"""
FILES = {
    "agent.json": json.dumps({"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}),
    "agent.py": AGENT,
    "requirements.txt": "",
}


def docker(*arguments):
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"docker {arguments}: {done.stderr}")
    return done.stdout.strip()


class Setup:
    """A project whose graph adds 1 after some seconds, its server, and what that needs."""

    def __init__(self, server):
        self.server = server
        self.directory = tempfile.mkdtemp(prefix="agentcli-setup-")
        self.name = pathlib.Path(self.directory).name.lower()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        for name, text in FILES.items():
            pathlib.Path(self.directory, name).write_text(text)

    def run(self, *arguments):
        """Runs agentcli in the project."""
        done = subprocess.run([PROGRAM, *arguments], cwd=self.directory, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{arguments}: {done.stderr}")

    def up(self):
        self.run("up", "--no-pull", "--wait", "--server", self.server, "--port", str(self.port), "--project-name", self.name)

    def down(self):
        self.run("down", "--volumes", "--project-name", self.name)

    def container(self, service):
        labels = [f"label=com.docker.compose.project={self.name}", f"label=com.docker.compose.service={service}"]
        return docker("ps", "-aq", *[it for label in labels for it in ("--filter", label)])

    def ask(self, method, route, body=None):
        """The status and the answer; None where there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, route, content, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if response.status < 300 and text else text
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def until_up(self):
        deadline = time.monotonic() + PATIENCE
        while (self.ask("GET", "/ok") or [0])[0] != 200:
            if time.monotonic() > deadline:
                sys.exit("the server does not answer\n" + docker("logs", "--tail", "40", self.container("langgraph-api")))
            time.sleep(0.02)

    def end(self):
        with contextlib.suppress(SystemExit):
            self.down()
        subprocess.run(["docker", "rmi", "-f", f"{self.name}-langgraph-api"], capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)
