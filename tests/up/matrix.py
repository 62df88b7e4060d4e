"""Every route of a server × its owner, another user and nobody: prints what somebody reached who must not.

Runs in the container of the server, whose handler takes `x-key: ada` or `x-key: bob` and filters by owner.
Usage: matrix.py URL
"""

import json
import sys
import urllib.error
import urllib.request

URL = sys.argv[1]
# What everybody may read: the state of the server and its description, and the routes of the project's own app, which the
# server leaves to the app unless `http.enable_custom_route_auth` is set.
PUBLIC = {"/", "/ok", "/info", "/docs", "/openapi.json", "/metrics", "/hello"}
METHODS = ("get", "post", "put", "patch", "delete")


def ask(user, method, path, body=None):
    """The status and the text of an answer; of a stream its first bytes."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if user:
        headers["x-key"] = user
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method.upper())
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read(10_000_000).decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read(10_000_000).decode()
    except TimeoutError:
        return 0, "no answer"


def made(user, path, body):
    status, text = ask(user, "post", path, body)
    assert status == 200, (path, status, text)
    return json.loads(text)


def things():
    """What Ada owns, by the name of the parameter in a path."""
    run = {"assistant_id": "agent", "input": {"number": 1}, "metadata": {"of": "ada"}}
    assistant = made("ada", "/assistants", {"graph_id": "agent", "metadata": {"of": "ada"}})
    thread = made("ada", "/threads", {"metadata": {"of": "ada"}})["thread_id"]
    started = made("ada", f"/threads/{thread}/runs", run)["run_id"]
    ask("ada", "get", f"/threads/{thread}/runs/{started}/join")
    cron = made("ada", "/runs/crons", {**run, "schedule": "0 0 1 1 *"})["cron_id"]
    state = json.loads(ask("ada", "get", f"/threads/{thread}/state")[1])
    item = {"namespace": ["ada"], "key": "secret", "value": {"of": "ada"}}
    assert ask("ada", "put", "/store/items", item)[0] in (200, 204)
    return {
        "assistant_id": assistant["assistant_id"],
        "thread_id": thread,
        "run_id": started,
        "cron_id": cron,
        "checkpoint_id": state["checkpoint"]["checkpoint_id"],
    }


def filled(path, own):
    for name, value in own.items():
        path = path.replace("{" + name + "}", value)
    return path.replace("{namespace}", "x").replace("{version}", "1").replace("{graph_id}", "agent")


def body_of(path, own):
    """A body that the route accepts."""
    bodies = {
        "/store/items/search": {"namespace_prefix": ["ada"]},
        "/store/namespaces": {},
        "/threads/prune": {"thread_ids": [own["thread_id"]], "strategy": "delete"},
        "/runs/cancel": {"thread_id": own["thread_id"], "run_ids": [own["run_id"]]},
    }
    given = {"assistant_id": own["assistant_id"], "input": {"number": 1}, "metadata": {}, "graph_id": "agent"}
    if path.endswith("/state"):
        given["values"] = {"number": 2}
    return bodies.get(path, {**given, "schedule": "0 0 1 1 *", "if_not_exists": "create"})


def main():
    own = things()
    secrets = list(own.values())
    routes = json.loads(ask("ada", "get", "/openapi.json")[1])["paths"]
    wrong, asked = [], 0
    for path, methods in sorted(routes.items()):
        for method in (method for method in METHODS if method in methods):
            body = None if method == "get" else body_of(path, own)
            for user in (None, "bob"):
                asked += 1
                status, text = ask(user, method, filled(path, own), body)
                is_public = path in PUBLIC and method == "get"
                leaks = [secret for secret in secrets if secret in text and status < 300]
                if user is None and status not in (401, 403) and not is_public:
                    wrong.append((user, method, path, status, text[:80]))
                # 501 says that the server has no such answer for anybody.
                elif status in (0, 500, 502, 503) or (user and leaks and not is_public):
                    wrong.append((user, method, path, status, text[:80]))
    # Nothing of it was changed.
    for path in (f"/threads/{own['thread_id']}", f"/assistants/{own['assistant_id']}"):
        status, text = ask("ada", "get", path)
        if status != 200 or json.loads(text)["metadata"].get("of") != "ada":
            wrong.append(("ada", "get", path, status, text[:80]))
    print(f"{asked} requests, {len(wrong)} wrong")
    for one in wrong:
        print(*one)


main()
