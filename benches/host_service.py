"""A deployment service under test, and small servers for it to run.

The servers are busybox: they answer /ok and /version and log, and stop at once. Unlike real ones, they use no database,
so what servers do with a database is not covered; uv and python3 in the base image of builds do nothing. The variable
MODE makes a server fail: `crash` at its start, `deaf` never answers, `brittle` crashes after 10 s.

It needs the images of `tests/engine/images services` on the engine at DOCKER_HOST, and busybox, statically linked.
"""
import http.client, io, json, os, pathlib, shutil, signal, socket, sqlite3, subprocess, tarfile

PROGRAM = os.environ.get("AGENTCLI_HOST_PROGRAM") or "target/debug/agentcli-host"
FINAL = {"DEPLOYED", "INTERRUPTED", "SKIPPED", "CREATE_FAILED", "BUILD_FAILED", "DEPLOY_FAILED"}
# A server that stops at once, since it has no runs to complete.
NO_GRACE = {"name": "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", "value": "0"}

SERVER = """#!/bin/sh
trap 'exit 0' TERM
[ ! -e /deps/app/version ] || cp /deps/app/version /www/version
echo "version $(cat /www/version)"
[ "$MODE" != crash ] || { echo "ModuleNotFoundError: No module named 'missing'" >&2; exit 1; }
[ "$MODE" = deaf ] || httpd -f -p "${PORT:-8000}" -h /www &
[ "$MODE" != brittle ] || { sleep 10; echo "out of luck"; exit 3; }
while :; do sleep 1 & wait $!; done
"""
TOOL = "#!/bin/sh\nexit 0\n"
PYTHON = "#!/bin/sh\nmkdir -p /lib/python\necho '        purelib = \"/lib/python\"'\n"


class Refuted(Exception):
    """Something that must hold does not."""


class Gone(Exception):
    """The service ended before it answered."""


def expect(condition, *what):
    if not condition:
        raise Refuted(" ".join(str(it) for it in what))


def docker(*arguments, **options):
    run = subprocess.run(["docker", *arguments], capture_output=True, **options)
    return run.stdout.decode(errors="replace").strip() if run.returncode == 0 else ""


def archive(files, mode="w"):
    """A tar of (path, bytes, mode)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for path, data, permissions in files:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), permissions
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def root(version):
    """A tar of the files of a server with this version."""
    busybox = pathlib.Path(shutil.which("busybox")).read_bytes()
    applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True).stdout.split()
    files = [("bin/busybox", busybox, 0o755), ("server", SERVER.encode(), 0o755), ("www/ok", b"ok", 0o644)]
    files += [("www/version", version.encode(), 0o644), ("usr/bin/uv", TOOL.encode(), 0o755)]
    files += [("usr/bin/python3", PYTHON.encode(), 0o755), ("api/constraints.txt", b"", 0o644)]
    out = io.BytesIO(archive(files))
    with tarfile.open(fileobj=out, mode="a") as tar:
        for applet in applets:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "/bin/busybox"
            if applet != "busybox":
                tar.addfile(entry)
        for path in ("tmp", "root", "lib", "usr/lib"):
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(entry)
    return out.getvalue()


def make_images():
    """Makes `agentcli-kills/base:3.11` for builds, and `agentcli-kills/server` with the versions 1 to 3."""
    for version in range(4):
        changes = ["-c", 'CMD ["/server"]', "-c", "ENV PATH=/usr/bin:/bin"]
        name = "agentcli-kills/base:3.11" if version == 0 else f"agentcli-kills/server:{version}"
        files = root(f"image-{version}")
        subprocess.run(["docker", "import", *changes, "-", name], input=files, check=True, stdout=subprocess.DEVNULL)


class Service:
    """`agentcli-host serve` with the data directory `data` and an API key."""

    def __init__(self, data, *options):
        self.data, self.options, self.process, self.address, self.proxy = data, options, None, None, None
        self.stderr = open(f"{data}.log", "ab")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.listen = f"127.0.0.1:{free.getsockname()[1]}"  # Names of pushed images contain it.
        keys = subprocess.run([PROGRAM, "keys", "create", "--data", data], capture_output=True, text=True, check=True)
        self.key = keys.stdout.strip()
        quotas = ["deployments=1000000", "replicas=1000000"]
        subprocess.run([PROGRAM, "tenants", "set", "default", *quotas, "--data", data], check=True)
        with sqlite3.connect(f"{data}/host.db") as db:
            self.host = db.execute("SELECT id FROM host").fetchone()[0]

    def start(self, **env):
        command = [PROGRAM, "serve", "--data", self.data, "--listen", self.listen, "--proxy", "127.0.0.1:0", "--json",
                   "--allow-image", "agentcli-kills/*"]
        options = {"stdout": subprocess.PIPE, "stderr": self.stderr, "env": {**os.environ, **env}}
        self.process = subprocess.Popen([*command, *self.options], **options)

    def ready(self):
        line = self.process.stdout.readline()
        if not line:
            raise Refuted(f"the service does not start; see {self.data}.log")
        event = json.loads(line)
        self.address, self.proxy = event["url"].split("//")[1], event["deployments"].rsplit(":", 1)[1]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def memory(self):
        """Resident memory, in megabytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmRSS"))

    def send(self, method, path, body=None, headers=(), raw=None, address=None):
        try:
            connection = http.client.HTTPConnection(address or self.address, timeout=60)
            headers = {"X-Api-Key": self.key, **dict(headers)}
            data = raw if raw is not None else None if body is None else json.dumps(body)
            if body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Gone() from error

    def ask(self, method, path, body=None):
        status, text = self.send(method, path, body)
        return status, json.loads(text) if text else None

    def answer(self, name, path="/version"):
        """The status and the text with which a deployment answers."""
        status, text = self.send("GET", path, headers={"Host": f"{name}.localhost"}, address=f"127.0.0.1:{self.proxy}")
        return status, text.decode(errors="replace")

    def remove(self):
        """Kills it, and removes everything of it from the engine."""
        self.process.kill()
        for kind, remove in (("ps -aq", "rm -fv"), ("network ls -q", "network rm"), ("volume ls -q", "volume rm")):
            for it in docker(*kind.split(), "--filter", f"label=agentcli.host={self.host}").splitlines():
                docker(*remove.split(), it)
        for it in docker("images", "-q", f"agentcli-host-{self.host}/*").splitlines():
            docker("rmi", "-f", it)
