//! The page of `dev` in a browser: the same session with the Python server and with that of JavaScript.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::guard::ask;
use super::javascript::project as javascript;
use super::{Dev, Project};
use crate::harness::browser::{Browser, ENTER};
use crate::harness::free_port;

/// What would run if it were parsed as HTML.
const HOSTILE: &str = "<img src=x onerror='window.ran=1'><script>window.ran=1</script>";

/// A model without a key that answers word by word, a question to people, a failure, and a run without an end.
const PYTHON: &str = r#"
import asyncio
from typing_extensions import TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class Slow(GenericFakeChatModel):
    async def _astream(self, *arguments, **options):
        for chunk in self._stream(*arguments, **options):
            await asyncio.sleep(0.1)
            yield chunk


async def model(state):
    text = "One two three four five <img src=x onerror='window.ran=1'> six."
    return {"messages": [await Slow(messages=iter([AIMessage(text)])).ainvoke(state["messages"])]}


class State(TypedDict, total=False):
    text: str
    verdict: str


def draft(state):
    return {"text": state["text"] + " draft"}


def question(state):
    return {"verdict": interrupt({"question": "Publish?"})}


def fail(state):
    return {"text": missing_name}


async def forever(state):
    await asyncio.sleep(3600)


def chain(schema, *nodes):
    return StateGraph(schema).add_sequence(nodes).add_edge(START, nodes[0].__name__).compile()


chat = chain(MessagesState, model)
review = chain(State, draft, question)
broken = chain(State, draft, fail)
endless = chain(State, forever)
"#;

/// The same in TypeScript.
const TYPESCRIPT: &str = r#"
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { FakeListChatModel } from "@langchain/core/utils/testing";

const answer = "One two three four five <img src=x onerror='window.ran=1'> six.";
const model = new FakeListChatModel({ responses: [answer], sleep: 15 });
const State = Annotation.Root({ text: Annotation<string>, verdict: Annotation<string> });
const draft = (state: typeof State.State) => ({ text: `${state.text} draft` });

export const chat = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge(START, "model")
  .compile();
export const review = new StateGraph(State)
  .addNode("draft", draft)
  .addNode("question", () => ({ verdict: interrupt({ question: "Publish?" }) as string }))
  .addEdge(START, "draft")
  .addEdge("draft", "question")
  .compile();
export const broken = new StateGraph(State)
  .addNode("draft", draft)
  .addNode("fail", () => {
    throw new Error("missing_name");
  })
  .addEdge(START, "draft")
  .addEdge("draft", "fail")
  .compile();
export const endless = new StateGraph(State)
  .addNode("forever", async () => (await new Promise((resolve) => setTimeout(resolve, 3600_000))) as {})
  .addEdge(START, "forever")
  .compile();
"#;

/// Keeps what is there for a moment only: the texts of the answer, and the nodes that are marked.
const WATCH: &str = "
window.seen = [];
window.marked = new Set();
new MutationObserver(() => {
    seen.push(document.querySelector('#messages .ai .text')?.textContent);
    for (const node of document.querySelectorAll('#picture .runs')) marked.add(node.dataset.node);
}).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });";

const GRAPHS: [&str; 4] = ["chat", "review", "broken", "endless"];

const IDLE: &str = "document.getElementById('stop').hidden && !document.getElementById('send').disabled";

fn graphs(file: &str) -> Value {
    GRAPHS.iter().map(|name| ((*name).to_owned(), json!(format!("./{file}:{name}")))).collect()
}

fn python() -> Project {
    let project = Project::of("hello");
    project.write("graphs.py", PYTHON);
    project.write("agent.json", json!({ "dependencies": ["."], "graphs": graphs("graphs.py") }).to_string());
    project
}

fn typescript() -> Project {
    let project = javascript();
    project.write("src/more.ts", TYPESCRIPT);
    let config = json!({ "node_version": "20", "graphs": graphs("src/more.ts") });
    project.write("agent.json", config.to_string());
    project
}

/// The checks of accessibility, as npm has them.
static AXE: LazyLock<String> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let install = ["install", "--no-save", "--no-audit", "--no-fund", "axe-core@4.11.0"];
    let output = Command::new("npm").args(install).current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(directory.path().join("node_modules/axe-core/axe.min.js")).unwrap()
});

/// Fails if the page, as it is now, breaks a rule of accessibility.
fn is_accessible(browser: &Browser) {
    if browser.run("return typeof axe") == "undefined" {
        // In the page itself, its policy would refuse it.
        browser.run(&format!("{}; window.axe = axe;", *AXE));
    }
    let found = browser.run(
        "return axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))",
    );
    assert_eq!(found, json!([]));
}

fn has_text(selector: &str, text: &str) -> String {
    format!("document.querySelector({selector:?})?.textContent.includes({text:?})")
}

/// Chooses an assistant with the keyboard, and waits for the picture of its graph.
fn choose(browser: &Browser, graph: &str, node: &str) {
    let option = format!("it.textContent.trim() === {graph:?}");
    browser.until(&format!(
        "[...document.querySelectorAll('#assistant option')].some((it) => {option}) && {IDLE}"
    ));
    browser.run("document.getElementById('assistant').focus()");
    browser.press(graph);
    browser.until(&format!("document.title.startsWith({graph:?}) && {IDLE}"));
    browser.until(&format!("document.querySelector('#picture svg [data-node=\"{node}\"]')"));
}

/// Runs the form with a text.
fn run(browser: &Browser, text: &str) {
    browser.tab_to("#field-text");
    browser.press(text);
    browser.tab_to("#send");
    browser.press(ENTER);
}

/// Runs an input in JSON, which needs no schema: the server compiles sources for it, and gives up on busy machines.
fn run_json(browser: &Browser, input: &Value) {
    browser.run("const mode = document.getElementById('mode'); mode.value = 'JSON'; mode.dispatchEvent(new Event('change'))");
    browser.tab_to("#text");
    browser.press(&input.to_string());
    browser.tab_to("#send");
    browser.press(ENTER);
}

/// Waits for the answer of a chat, of which a part is there before its end, and for the node that is marked as it runs.
fn stream(browser: &Browser) {
    browser.until(&format!("{IDLE} && {}", has_text("#messages .ai .text", "six.")));
    browser.until("seen.some((text) => text?.includes('One') && !text.includes('six.'))");
    browser.until("marked.has('model')");
    browser.until("document.querySelectorAll('#steps > li').length > 2");
    assert_eq!(browser.run("return document.querySelector('#messages .human .text').textContent"), HOSTILE);
}

/// Waits for a failure that says where.
fn failure(browser: &Browser) {
    browser.until(&format!("{IDLE} && {}", has_text(".card.failed", "fail failed")));
    browser.until(&has_text(".card.failed", "missing_name"));
    browser.until("/^(graphs\\.py|src\\/more\\.ts):\\d+$/.test(document.querySelector('.card.failed code').textContent)");
    browser.until("document.querySelector('#picture .broke[data-node=fail]')");
}

fn session(dev: &Dev) {
    let browser = Browser::open(&dev.url());
    choose(&browser, "chat", "model");
    is_accessible(&browser);

    browser.run(WATCH);
    browser.tab_to("#text");
    browser.press(&format!("{HOSTILE}{ENTER}"));
    stream(&browser);
    let chat = browser.run("return location.href");

    // An interrupt and its answer.
    choose(&browser, "review", "question");
    is_accessible(&browser);
    run(&browser, "a");
    browser.until("document.activeElement.id === 'answer'");
    browser.until("document.querySelector('#picture .waits[data-node=question]')");
    is_accessible(&browser);
    browser.press(&format!("yes{ENTER}"));
    browser.until(&format!("{IDLE} && {}", has_text("#outcome", "verdict: \"yes\"")));

    // Back at the step before the question, which asks again.
    let step = "[...document.querySelectorAll('#steps > li')].find((it) => /\\ddraft|\\d draft/.test(it.textContent))";
    browser.run(&format!("{step}.querySelector('summary').click()"));
    let press = |label: &str| {
        let button = format!(
            "[...({step}?.querySelectorAll('button') ?? [])].find((it) => it.textContent === {label:?})"
        );
        browser.until(&button);
        browser.run(&format!("{button}.click()"));
    };
    press("Go back to here");
    browser.until("!document.getElementById('from').hidden");
    assert_eq!(browser.run("return document.getElementById('outcome').textContent.includes('yes')"), false);
    press("Run on from here");
    browser.until(&format!("{IDLE} && document.activeElement.id === 'answer'"));
    // The list was drawn again.
    browser.until(&format!("{step}.querySelector('details[open] > .inside')"));

    choose(&browser, "broken", "fail");
    run(&browser, "a");
    failure(&browser);
    is_accessible(&browser);
    let narrow = json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false });
    browser.command("Emulation.setDeviceMetricsOverride", narrow.clone());
    is_accessible(&browser);
    browser.command("Emulation.clearDeviceMetricsOverride", json!({}));

    // A run without an end goes on without the page, is found again, and is stopped.
    choose(&browser, "endless", "forever");
    run(&browser, "a");
    browser.until("document.querySelector('#threads [aria-current]') || location.hash.includes('thread')");
    browser.run("location.reload()");
    browser.until("!document.getElementById('stop').hidden");
    browser.tab_to("#stop");
    browser.press(ENTER);
    browser.until(IDLE);

    // The thread of the chat again.
    browser.go(chat.as_str().unwrap());
    browser.run("location.reload()");
    browser.until(&has_text("#messages .ai .text", "six."));
    browser.until("document.querySelectorAll('#threads button').length >= 4");
    browser.command("Emulation.setDeviceMetricsOverride", narrow);
    for part in ["threads", "graph", "chat"] {
        browser.tab_to(&format!("[data-show={part}]"));
        browser.press(ENTER);
        let beyond =
            browser.run("const page = document.documentElement; return page.scrollWidth - page.clientWidth");
        assert_eq!(beyond, 0, "{part}");
        is_accessible(&browser);
    }
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.command("Emulation.setEmulatedMedia", dark);
    is_accessible(&browser);

    assert_eq!(browser.run("return window.ran ?? null"), Value::Null);
    let origins = browser.run(
        "return [...new Set(performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin))]",
    );
    assert_eq!(origins, json!([dev.url()]));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn python_session() {
    let project = python();
    let dev = project.ready(&["--no-reload"]);
    session(&dev);
    assert!(dev.stop("INT").success());
}

#[test]
fn javascript_session() {
    let project = typescript();
    let dev = project.ready(&["--no-reload"]);
    let browser = Browser::open(&dev.url());
    choose(&browser, "chat", "model");
    browser.run(WATCH);
    run_json(&browser, &json!({ "messages": [{ "type": "human", "content": HOSTILE }] }));
    stream(&browser);
    choose(&browser, "broken", "fail");
    run_json(&browser, &json!({ "text": "a" }));
    failure(&browser);
    assert_eq!(browser.run("return window.ran ?? null"), Value::Null);
    let mut said = browser.console();
    said.retain(|message| !message.contains("/schemas"));
    assert_eq!(said, Vec::<String>::new());
    assert!(dev.stop("INT").success());
}

#[test]
fn page_waits_for_a_server_that_stopped() {
    let project = python();
    let port = free_port().to_string();
    let dev = project.ready(&["--no-reload", "--port", &port]);
    let browser = Browser::open(&dev.url());
    choose(&browser, "endless", "forever");
    run(&browser, "a");
    browser.until("document.querySelector('#picture .runs')");
    dev.signal("KILL");
    drop(dev);
    browser.until(&has_text("#connection", "does not answer"));
    let dev = project.ready(&["--no-reload", "--port", &port]);
    browser.until(&format!("document.getElementById('connection').textContent === '' && {IDLE}"));
    dev.stop("INT");
}

/// The status, type and policy of the answer to a browser that opens `/`, and to a program.
fn opened(port: u16) -> (String, String) {
    let host = format!("127.0.0.1:{port}");
    let head = |accept| {
        let response = ask(port, "GET", "/", &[("Host", &host), ("Accept", accept)], "");
        format!("{}\n{}", response.head, response.body)
    };
    (head("text/html,*/*"), head("*/*"))
}

#[test]
fn routes_of_the_project_win() {
    let port = free_port();
    let start = |project: &Project| project.ready(&["--no-reload", "--port", &port.to_string()]);
    let is_page = |answer: &str| answer.contains("default-src 'none'") && answer.contains("<title>agentcli");

    let project = python();
    let dev = start(&project);
    let (page, health) = opened(port);
    assert!(is_page(&page) && health.contains("{\"ok\":true"), "{page}\n{health}");
    dev.stop("INT");
    for (path, wins) in [("/", true), ("/other", false)] {
        let routes = format!(
            "from starlette.applications import Starlette\nfrom starlette.responses import PlainTextResponse\nfrom starlette.routing import Route\n\nasync def own(request):\n    return PlainTextResponse(\"ours\")\n\napp = Starlette(routes=[Route({path:?}, own)])\n",
        );
        project.write("routes.py", routes);
        project.edit(
            "agent.json",
            "{\"dependencies\"",
            "{\"http\":{\"app\":\"./routes.py:app\"},\"dependencies\"",
        );
        let dev = start(&project);
        let (page, _) = opened(port);
        assert_eq!((page.ends_with("ours"), is_page(&page)), (wins, !wins), "{page}");
        dev.stop("INT");
        project.edit(
            "agent.json",
            "{\"http\":{\"app\":\"./routes.py:app\"},\"dependencies\"",
            "{\"dependencies\"",
        );
    }

    let project = typescript();
    for (path, wins) in [("/", true), ("/other", false)] {
        let routes = format!(
            "import {{ Hono }} from \"../.agentcli/node/node_modules/hono/dist/index.js\";\nexport const app = new Hono().get({path:?}, (context) => context.text(\"ours\"));\n"
        );
        project.write("src/routes.ts", routes);
        project.edit(
            "agent.json",
            "{\"node_version\"",
            "{\"http\":{\"app\":\"./src/routes.ts:app\"},\"node_version\"",
        );
        let dev = start(&project);
        let (page, _) = opened(port);
        assert_eq!((page.ends_with("ours"), is_page(&page)), (wins, !wins), "{page}");
        dev.stop("INT");
        project.edit(
            "agent.json",
            "{\"http\":{\"app\":\"./src/routes.ts:app\"},\"node_version\"",
            "{\"node_version\"",
        );
    }
}

/// What `dev` prints for people, and `invoke` for the same run, of a failed run. The JavaScript server does not always say in
/// which node it failed.
fn told(project: &Project, node: &str, place: &str) {
    let port = free_port().to_string();
    let mut command = project.command(&["--no-browser", "--no-reload", "--port", &port]);
    let mut dev = Dev::new(command.spawn().unwrap());
    dev.until_line("ready in");
    let invoke = |graph: &str| {
        let mut invoke = project.program_command();
        let output = invoke.args(["invoke", graph, "{\"text\": \"a\"}"]).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let error = invoke("broken");
    let failed = format!("the graph failed: {node}");
    assert!(error.contains(&failed) && error.contains(place), "{error}");
    let error = invoke("brokn");
    assert!(error.contains("has no graph `brokn`") && error.contains("did you mean `broken`?"), "{error}");
    dev.hear("broken  failed");
    dev.hear(node);
    dev.hear(place);
    dev.hear("POST /runs/stream");
    let talk = dev.talk();
    assert!(!talk.contains("Traceback") && !talk.contains("Background run"), "{talk}");
    let told = talk.split_once("  broken  failed").unwrap().1.trim();
    assert_eq!(told.lines().count(), 2, "{talk}");
    dev.stop("INT");
}

#[test]
fn a_failed_run_is_one_line_that_says_where() {
    told(&python(), "fail: ", "graphs.py:");
    told(&typescript(), "", "src/more.ts:");
}

#[test]
fn runs_are_events() {
    let project = python();
    let mut dev = project.ready(&["--no-reload"]);
    dev.call("POST", "/runs/wait", json!({ "assistant_id": "chat", "input": { "messages": [] } }));
    let run = dev.until("run");
    assert_eq!(
        (&run["graph"], &run["status"], &run["nodes"]),
        (&json!("chat"), &json!("ok"), &json!(["model"]))
    );
    dev.call("POST", "/runs/wait", json!({ "assistant_id": "broken", "input": { "text": "a" } }));
    let run = dev.until("run");
    assert_eq!(
        (&run["status"], &run["node"], &run["nodes"]),
        (&json!("failed"), &json!("fail"), &json!(["draft", "fail"]))
    );
    assert!(run["place"].as_str().unwrap().starts_with("graphs.py:"), "{run}");
    assert_eq!(run["error"], "NameError: name 'missing_name' is not defined");
    dev.stop("INT");
}

/// The page of `agentcli open` for a server with a key.
#[test]
fn open_serves_the_page_for_a_server_with_a_key() {
    let project = python();
    project.write("auth.py", "from langgraph_sdk import Auth\n\nauth = Auth()\n\n@auth.authenticate\nasync def check(headers):\n    if headers.get(b\"x-api-key\") != b\"right\":\n        raise Auth.exceptions.HTTPException(status_code=401, detail=\"no key\")\n    return {\"identity\": \"ada\"}\n");
    project.edit(
        "agent.json",
        "{\"dependencies\"",
        "{\"auth\":{\"path\":\"./auth.py:auth\"},\"dependencies\"",
    );
    let dev = project.ready(&["--no-reload"]);
    let open = |key: &str| {
        let mut open = project.program_command();
        open.args(["open", &dev.url(), "--no-browser", "--header-env", "X-Api-Key: KEY"]).env("KEY", key);
        open.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        open
    };
    let refused = open("wrong").output().unwrap();
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("401"));

    let mut front = open("right").spawn().unwrap();
    let lines = crate::harness::lines(front.stdout.take().unwrap());
    let url = lines.recv_timeout(super::PATIENCE).unwrap();
    let browser = Browser::open(&url);
    choose(&browser, "chat", "model");
    browser.tab_to("#text");
    browser.press(&format!("Hello{ENTER}"));
    browser.until(&format!("{IDLE} && {}", has_text("#messages .ai .text", "six.")));
    assert_eq!(browser.console(), Vec::<String>::new());
    let text = browser.run(
        "return document.documentElement.outerHTML + JSON.stringify({...sessionStorage, ...localStorage})",
    );
    assert!(!text.as_str().unwrap().contains("right\""), "the key is in the page");

    // Without the secret path, from another origin, or for another name, nothing is forwarded.
    let (port, path) = url.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
    let port: u16 = port.parse().unwrap();
    let host = format!("127.0.0.1:{port}");
    let search = format!("/{path}threads/search");
    for (target, headers, status) in [
        (search.as_str(), vec![("Host", host.as_str())], 200),
        ("/threads/search", vec![("Host", host.as_str())], 404),
        (&search, vec![("Host", "evil.example")], 403),
        (&search, vec![("Host", host.as_str()), ("Origin", "https://evil.example")], 403),
        (&search, vec![("Host", host.as_str()), ("Origin", "null")], 403),
    ] {
        let headers = [headers, vec![("Content-Type", "application/json")]].concat();
        assert_eq!(ask(port, "POST", target, &headers, "{}").status, status, "{target} {headers:?}");
    }
    front.kill().unwrap();
    front.wait().unwrap();
    dev.stop("INT");
}
