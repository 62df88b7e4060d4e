//! `agentcli invoke` with the server of `agentcli dev`.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{PATIENCE, Project, signal_process};
use crate::terminal::Terminal;

const CONFIGURATION: &str = r#"{
  "dependencies": ["."],
  "auth": { "path": "./src/hello/auth.py:auth" },
  "graphs": {
    "chat": "./src/hello/graph.py:chat",
    "greet": "./src/hello/graph.py:greet",
    "ask": "./src/hello/graph.py:ask",
    "approve": "./src/hello/graph.py:approve",
    "fail": "./src/hello/graph.py:fail",
    "wait": "./src/hello/graph.py:wait"
  }
}"#;

const GRAPHS: &str = r#"
import asyncio
from typing import TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    name: str
    greeting: str


def one(state, name, node):
    return StateGraph(state).add_node(name, node).add_edge(START, name).add_edge(name, END).compile()


async def answer(state):
    words = f"Message {len(state['messages'])}: one \x1b[31mtwo three"
    model = GenericFakeChatModel(messages=iter([AIMessage(words)]))
    return {"messages": [await model.ainvoke(state["messages"])]}


def hello(state):
    return {"greeting": f"Hello, {state['name']}!"}


def question(state):
    return {"greeting": interrupt("really \x1b[2J?")}


def decide(state):
    wish = state["messages"][-1].content
    if wish == "break":
        raise ValueError("broken")
    return {"messages": [AIMessage(f"you said {interrupt(wish + '?')}")]}


def broken(state):
    raise ValueError("no greeting today")


async def long(state):
    await asyncio.sleep(600)


chat = one(MessagesState, "answer", answer)
greet = one(State, "hello", hello)
ask = one(State, "question", question)
approve = one(MessagesState, "decide", decide)
fail = one(State, "broken", broken)
wait = one(State, "long", long)
"#;

const AUTH: &str = r#"
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers):
    if headers.get(b"x-key") != b"hidden-key":
        raise Auth.exceptions.HTTPException(status_code=401, detail="this key is wrong: " + headers.get(b"x-key", b"none").decode())
    return "user"
"#;

fn project() -> Project {
    let project = Project::of("hello").variable("KEY", "hidden-key");
    project.write("agent.json", CONFIGURATION);
    project.write("src/hello/graph.py", GRAPHS).write("src/hello/auth.py", AUTH);
    project
}

fn command(project: &Project, arguments: &[&str]) -> Command {
    let mut command = Command::new(&project.program);
    command.arg("invoke").args(["--header-env", "X-Key: KEY"]).args(arguments);
    command.current_dir(project.directory.path());
    command.envs(project.variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Runs it to its end, with `input` as its stdin: exit code, stdout and stderr.
fn invoke(project: &Project, arguments: &[&str], input: &str) -> (i32, String, String) {
    project.write("input", input);
    let stdin = std::fs::File::open(project.path("input")).unwrap();
    let Output { status, stdout, stderr } = command(project, arguments).stdin(stdin).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn invoke_runs_the_graphs_of_the_running_server() {
    let project = project();
    let (code, _, err) = invoke(&project, &["greet", "{}"], "");
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no server runs for the project here"), "{err}");

    let dev = project.ready(&[]);
    let run = |arguments: &[&str], input: &str| invoke(&project, arguments, input);
    let greeting = "{\"name\":\"Ada\",\"greeting\":\"Hello, Ada!\"}\n";

    // Input as an argument, from stdin and from a file.
    let done = (0, greeting.to_owned(), String::new());
    assert_eq!(run(&["greet", r#"{"name": "Ada"}"#], ""), done);
    assert_eq!(run(&["greet"], r#"{"name": "Ada"}"#), done);
    assert_eq!(run(&["greet", "-"], r#"{"name": "Ada"}"#), done);
    project.write("ada.json", r#"{"name": "Ada"}"#);
    assert_eq!(run(&["greet", "@ada.json"], ""), done);

    // Only the answer is printed to a pipe, as it is.
    let answer = "Message 1: one \u{1b}[31mtwo three\n";
    assert_eq!(run(&["chat", "Hello there"], ""), (0, answer.to_owned(), String::new()));
    for (arguments, expected) in [
        (&["greet", "Ada"][..], "the graph `greet` takes no `messages`"),
        (&["greet", "{\"name\": "], "the input is not valid JSON at line 1"),
        (&["greet"], "the input is empty"),
        (&["greet", "@nothing.json"], "cannot read the input of `nothing.json`"),
        (&["Hello"], "has 6 graphs: `"),
        (&["none", "Hello"], "has no graph `none`"),
        (&["none", "{}"], "has no graph `none`"),
    ] {
        let (code, out, err) = run(arguments, "");
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
    }

    // Events as JSON Lines.
    let (code, out, _) = run(&["chat", "Hello", "--json"], "");
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert!(code == 0 && of("metadata") == 1 && of("updates") == 1 && of("messages") > 3, "{out}");
    assert_eq!(events.last().unwrap()["data"]["messages"][1]["type"], "ai");

    // The error of the graph.
    let (code, out, err) = run(&["fail", "{\"name\": \"Ada\"}"], "");
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    let failed = "error: the graph failed: broken: ValueError: no greeting today (src/hello/graph.py:";
    assert!(err.contains(failed) && err.contains("\nhint: "), "{err}");

    threads_keep_the_state(&project);
    credentials_are_not_shown(&project);
    terminals_show_the_run(&project);
    lines_of_a_chat_are_runs_of_a_thread(&project);
    interrupts_cancel_the_run(&project, &dev.url());
    dev.stop("INT");
    let (code, _, err) = run(&["greet", "{}"], "");
    assert_eq!(code, 2, "{err}");
}

fn threads_keep_the_state(project: &Project) {
    let (code, out, err) = invoke(project, &["ask", "{\"name\": \"Ada\"}", "--thread", "new"], "");
    assert_eq!(code, 0, "{err}");
    let state: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(state["__interrupt__"][0]["value"], "really \u{1b}[2J?");
    let id = err.split("note: thread: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert!(err.contains("interrupted: really \\u{1b}[2J?\n"), "{err}");
    assert!(err.contains(&format!("`agentcli invoke ask --thread {id} --resume VALUE`")), "{err}");
    let (code, out, err) = invoke(project, &["ask", "--thread", &id, "--resume", "yes"], "");
    assert_eq!((code, out.as_str()), (0, "{\"name\":\"Ada\",\"greeting\":\"yes\"}\n"), "{err}");

    let (_, _, err) = invoke(project, &["chat", "one", "--thread", "new"], "");
    let id = err.split("note: thread: ").nth(1).unwrap().trim().to_owned();
    let (_, out, _) = invoke(project, &["chat", "two", "--thread", &id], "");
    assert!(out.starts_with("Message 3: "), "{out}");
    let unknown = "00000000-0000-0000-0000-000000000000";
    let (code, _, err) = invoke(project, &["chat", "two", "--thread", unknown], "");
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("with status 404: "), "{err}");
}

fn credentials_are_not_shown(project: &Project) {
    let with = |arguments: &[&str]| {
        let mut command = Command::new(&project.program);
        let command = command.arg("invoke").args(arguments).current_dir(project.directory.path());
        command.env("WRONG", "wrong-key").stdin(Stdio::null()).output().unwrap()
    };
    let output = with(&["greet", "{}", "--header-env", "X-Key: WRONG"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("with status 401: this key is wrong: …\nhint: pass the credentials"), "{err}");
    for (arguments, expected) in [
        (["--header-env", "X-Key: NO_SUCH"], "the environment variable NO_SUCH is not set"),
        (["--header", "X-Key wrong-key"], "cannot use --header: there is no colon"),
        (["--header", "X Key: wrong-key"], "cannot use --header: the name of the header"),
        (["--header", "X-Key: wrong-key\n"], "with status 401"),
        (["--header", "X-Key: wrong\nkey"], "cannot use --header: the value of the header"),
        (["--url", "http://user:wrong-key@127.0.0.1"], "it contains a user or a password"),
        (["--url", "ftp://127.0.0.1"], "it does not start with http"),
    ] {
        let output = with(&[&["greet", "{}"], &arguments[..]].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && err.contains(expected), "{arguments:?}: {err}");
        assert!(!err.contains("wrong-key"), "{err}");
    }
}

fn terminals_show_the_run(project: &Project) {
    let start = |arguments: &[&str]| Terminal::start(command(project, arguments));
    let mut terminal = start(&["chat", "Hello", "--color", "never"]);
    assert!(terminal.end().success(), "{}", terminal.printed);
    // Printed once, without the escapes of the model.
    let printed = terminal.printed.replace("\r\n", "\n");
    assert_eq!(printed.matches("two three").count(), 1, "{printed}");
    assert!(printed.starts_with("Message 1: one \\u{1b}[31mtwo three\n"), "{printed:?}");
    assert!(printed.ends_with("answer\n"), "{printed:?}");

    let mut terminal = start(&["greet", "{\"name\": \"Ada\"}", "--color", "never"]);
    assert!(terminal.end().success(), "{}", terminal.printed);
    assert_eq!(terminal.printed, "hello\r\n{\"name\":\"Ada\",\"greeting\":\"Hello, Ada!\"}\r\n");

    let mut terminal = start(&["ask", "{}", "--color", "never"]);
    assert!(terminal.end().success(), "{}", terminal.printed);
    assert!(terminal.printed.contains("interrupted: really \\u{1b}[2J?\r\nhint: "), "{}", terminal.printed);

    let mut terminal = start(&["greet"]);
    assert_eq!(terminal.end().code(), Some(2));
    assert!(terminal.printed.contains("there is no input"), "{}", terminal.printed);
}

fn lines_of_a_chat_are_runs_of_a_thread(project: &Project) {
    // From a pipe: the answers alone, and an error ends it.
    let (code, out, err) = invoke(project, &["chat", "--chat"], "one\n\n  two\nthree");
    let answers = [1, 3, 5].map(|number| format!("Message {number}: one \u{1b}[31mtwo three\n"));
    assert_eq!((code, out), (0, answers.concat()), "{err}");
    let id = err.strip_prefix("note: thread: ").unwrap().trim();
    let (_, out, err) = invoke(project, &["chat", "first", "--chat", "--thread", id], "second\n");
    assert!(out.starts_with("Message 7: ") && out.contains("\nMessage 9: "), "{out}");
    assert_eq!(err, "");
    let (code, out, err) = invoke(project, &["greet", "--chat"], "Ada\n");
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("the graph `greet` takes no `messages`"), "{err}");
    let (code, out, err) = invoke(project, &["approve", "--chat"], "buy\nyes\nbreak\nbuy\n");
    assert_eq!(code, 1, "{err}");
    assert!(out.ends_with("you said yes\n"), "{out}");
    assert_eq!(err.matches("interrupted: buy?").count(), 1, "{err}");
    assert!(err.contains("error: the graph failed: decide: ValueError: broken"), "{err}");

    // On a terminal, an error of the graph ends nothing.
    let mut terminal = Terminal::start(command(project, &["approve", "--chat", "--color", "never"]));
    terminal.expect("> ");
    terminal.answer("break");
    terminal.expect("error: the graph failed: decide: ValueError: broken");
    terminal.answer("buy");
    terminal.expect("interrupted: buy?\r\nhint: the next line is the answer\r\n> ");
    terminal.answer("no");
    terminal.expect("you said no");
    terminal.answer("\u{4}");
    assert!(terminal.end().success(), "{}", terminal.printed);
}

fn interrupts_cancel_the_run(project: &Project, url: &str) {
    let key = [("x-key", "hidden-key")];
    let call = |method: &str, route: &str, body: Value| -> Value {
        let (_, text) = super::send(method, &format!("{url}{route}"), &key, body);
        serde_json::from_str(&text).unwrap()
    };
    let thread = call("POST", "/threads", json!({}));
    let id = thread["thread_id"].as_str().unwrap();
    let runs = || call("GET", &format!("/threads/{id}/runs"), Value::Null);
    let until = |status: &[&str]| {
        let deadline = Instant::now() + PATIENCE;
        while !status.iter().any(|status| runs()[0]["status"] == *status) {
            assert!(Instant::now() < deadline, "{}", runs());
            thread::sleep(Duration::from_millis(50));
        }
    };
    let mut command = command(project, &["wait", "{}", "--thread", id]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(&["running"]);
    signal_process(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), err.as_str()), (Some(130), "error: interrupted\n"));
    until(&["interrupted", "cancelled", "error"]);
}
