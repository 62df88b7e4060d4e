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

    async def __call__(self, scope, receive, send):
        refused = None if scope["type"] == "lifespan" else self.refused(scope["headers"])
        if refused is None:
            await self.app(scope, receive, send)
        else:
            await self.refuse(scope, receive, send, *refused)

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

    async def refuse(self, scope, receive, send, reason, values):
        status, what, remedy = self.rules["refusals"][reason]
        shown = ", ".join(values)[: self.LONGEST_REPORTED]
        shown = "".join(c if " " <= c <= "~" else f"\\x{ord(c):02x}" for c in shown)
        message = f"{what} `{shown}`; {remedy}"
        if message not in self.reported and len(self.reported) < self.MOST_REPORTED:
            self.reported.add(message)
            print(message, flush=True)
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


