# Refuses requests of foreign web pages before any of the server's code sees them, by the rules of guard.rs.
import json
import re


class Guard:
    # More refusals are not reported, so that a page cannot fill the log.
    MOST_REPORTED = 100
    LONGEST_REPORTED = 200

    def __init__(self, app, rules):
        self.app = app
        self.rules = rules
        self.hosts = re.compile(rules["hosts"])
        self.loopback = re.compile(rules["loopback"])
        self.pattern = re.compile(rules["pattern"]) if rules["pattern"] else None
        self.reported = set()
        here = rules["here"]
        self.own_hosts = re.compile(here["hosts"])
        self.own_peers = re.compile(here["peers"])
        self.studio = here["header"].encode()

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        refused = self.refused(scope["headers"])
        if refused:
            return await self.refuse(scope, receive, send, *refused)
        await self.app(self.without_studio(scope), receive, send)

    def without_studio(self, scope):
        """Leaves the header by which the studio passes the project's authentication to requests of this machine."""
        headers = scope["headers"]
        if all(name != self.studio for name, _ in headers) or self.is_here(scope):
            return scope
        self.report(self.rules["here"]["ignored"])
        return {**scope, "headers": [(name, value) for name, value in headers if name != self.studio]}

    def is_here(self, scope):
        """Whether a request comes from this machine, and not through a tunnel."""
        peer = (scope.get("client") or [""])[0]
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        return bool(self.own_peers.fullmatch(peer)) and all(map(self.own_hosts.fullmatch, hosts))

    def refused(self, headers):
        """What refuses a request with these headers, and their values, if anything does."""
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        if len(hosts) > 1 or not all(map(self.hosts.fullmatch, hosts)):
            return "host", hosts
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if len(origins) > 1 or not all(self.is_allowed(origin, hosts) for origin in origins):
            return "null" if origins == ["null"] else "origin", origins
        return None

    def is_allowed(self, origin, hosts):
        allowed = self.rules["origins"]
        own = [self.rules["scheme"] + "://" + host for host in hosts]
        return (
            "*" in allowed
            or origin in allowed
            or origin.lower() in own
            or self.loopback.fullmatch(origin.lower()) is not None
            # As the server matches it.
            or (self.pattern is not None and self.pattern.fullmatch(origin) is not None)
        )

    def report(self, message):
        if message not in self.reported and len(self.reported) < self.MOST_REPORTED:
            self.reported.add(message)
            print(message, flush=True)

    async def refuse(self, scope, receive, send, reason, values):
        status, what, remedy = self.rules["refusals"][reason]
        shown = ", ".join(values)[: self.LONGEST_REPORTED]
        shown = "".join(c if " " <= c <= "~" else f"\\x{ord(c):02x}" for c in shown)
        message = f"{what} `{shown}`; {remedy}"
        self.report(message)
        answer = "http.response"
        if scope["type"] == "websocket":
            await receive()
            answer = "websocket.http.response"
            if answer not in scope.get("extensions", {}):
                return await send({"type": "websocket.close"})
        body = json.dumps({"detail": message}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": f"{answer}.start", "status": status, "headers": headers})
        await send({"type": f"{answer}.body", "body": body})


