# Refuses requests of foreign web pages before any of the server's code sees them, by the rules of guard.rs, and serves the
# page.
import json
import re


class Page:
    """Serves the page to browsers, unless the project's own app has a route at its path."""

    def __init__(self, app, rules):
        self.app = app
        self.path = rules["path"]
        self.is_shared = rules["shared"]
        with open(rules["file"], "rb") as file:
            self.document = file.read()
        self.headers = [(name.encode(), value.encode()) for name, value in rules["headers"]]

    def is_asked_for(self, scope):
        is_here = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == self.path
        return is_here and any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])

    async def __call__(self, scope, receive, send):
        if not self.is_shared:
            return await self.serve(send)
        is_served = False

        async def serve_instead(message):
            nonlocal is_served
            if message["type"] == "http.response.start" and self.is_free(scope, message):
                is_served = True
                await self.serve(send)
            if not is_served:
                await send(message)

        await self.app(scope, receive, serve_instead)

    def is_free(self, scope, answer):
        """Whether nothing answers there, or the server itself, which has a health check there."""
        module = getattr(scope.get("endpoint"), "__module__", None) or ""
        return answer["status"] == 404 or module.partition(".")[0] == "langgraph_api"

    async def serve(self, send):
        headers = [*self.headers, (b"content-length", str(len(self.document)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.document})


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
        self.page = Page(app, rules["page"])

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        refused = self.refused(scope)
        if refused:
            return await self.refuse(scope, receive, send, *refused)
        scope, send = self.for_private_network(self.without_studio(scope), send)
        app = self.page if self.page.is_asked_for(scope) else self.app
        await app(scope, receive, send)

    def for_private_network(self, scope, send):
        """Lets pages that are allowed reach this machine: the server's own check of that question refuses them."""
        asked = (b"access-control-request-private-network", b"true")
        if scope.get("method") != "OPTIONS" or asked not in scope["headers"]:
            return scope, send

        async def answer(message):
            if message["type"] == "http.response.start":
                allowed = (b"access-control-allow-private-network", b"true")
                message = {**message, "headers": [*message.get("headers", []), allowed]}
            await send(message)

        return {**scope, "headers": [header for header in scope["headers"] if header != asked]}, answer

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

    def refused(self, scope):
        """What refuses a request, and the values of its headers, if anything does."""
        headers = scope["headers"]
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        # Without one, an absolute target names the host, which is not seen here.
        is_nameless = not hosts and scope.get("http_version") == "1.1"
        if is_nameless or len(hosts) > 1 or not all(map(self.hosts.fullmatch, hosts)):
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


