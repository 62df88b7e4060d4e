//! The table of keys: what each key of the configuration holds, and which server variable it becomes.
//!
//! Types and descriptions of the keys are in `schemas/agent.schema.json`. References, the hand-over to the server, `agentcli
//! explain KEY` and the table in the documentation are derived from these rows and the schema. Which values are secret is
//! decided by [`secrecy`](crate::secrecy), before a text is parsed.

use crate::diagnostic::Pointer;

/// A row of the table.
#[derive(Debug)]
pub struct Key {
    /// JSON Pointer; `*` matches any member.
    pub pointer: &'static str,
    /// Kind of the value.
    pub holds: Holds,
    /// The environment variable that hands the value over to the server.
    pub variable: Option<&'static str>,
    /// A value, as JSON.
    pub example: &'static str,
}

/// The kind of value that a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A setting.
    Plain,
    /// Local directories and Python packages.
    Dependencies,
    /// Environment variables: the values are secret.
    Environment,
    /// The path of a file that is not code.
    File,
    /// A reference to code: how it is written, the languages of the files, and the value that the server needs there.
    Reference(Form, Languages, &'static str),
}

/// How a reference to code is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `<file>:<name>` or `<module>:<name>`.
    Name,
    /// `<file>:<name>` or `<module>.<name>`.
    Dotted,
    /// `<file>:<name>` or `<provider>:<model>`.
    Model,
    /// A file alone.
    File,
}

/// The languages of the files that a reference may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Languages {
    /// Python, and JavaScript or TypeScript where Node.js is installed.
    Any,
    /// The language of the server.
    Server,
    /// Python.
    Python,
    /// JavaScript or TypeScript, with or without JSX.
    Component,
}

use Form::{Dotted, File, Model, Name};
use Holds::Reference;
use Languages::{Any, Component, Python, Server};

const fn plain(pointer: &'static str, example: &'static str) -> Key {
    Key { pointer, holds: Holds::Plain, variable: None, example }
}

const fn section(pointer: &'static str, variable: &'static str, example: &'static str) -> Key {
    Key { pointer, holds: Holds::Plain, variable: Some(variable), example }
}

const fn reference(pointer: &'static str, holds: Holds, example: &'static str) -> Key {
    Key { pointer, holds, variable: None, example }
}

const GRAPH: Holds = Reference(Name, Any, "a graph or a function that returns one");

/// The variable of `http`, which says where the server's routes are.
pub const HTTP: &str = "LANGGRAPH_HTTP";

/// All rows; in this order, sections are handed over to the server.
pub const KEYS: &[Key] = &[
    Key { pointer: "/dependencies", holds: Holds::Dependencies, variable: None, example: r#"["."]"# },
    section("/graphs", "LANGSERVE_GRAPHS", r#"{"agent": "./agent.py:graph"}"#),
    reference("/graphs/*", GRAPH, r#""./agent.py:graph""#),
    reference("/graphs/*/path", GRAPH, r#""./agent.py:graph""#),
    Key { pointer: "/env", holds: Holds::Environment, variable: None, example: r#""./.env""# },
    plain("/python_version", r#""3.12""#),
    plain("/node_version", r#""22""#),
    plain("/api_version", r#""0.8""#),
    plain("/_INTERNAL_docker_tag", r#""0.8.1-py3.12""#),
    plain("/base_image", r#""registry.example/agent-server:1.0""#),
    plain("/image_distro", r#""wolfi""#),
    plain("/dockerfile_lines", r#"["RUN apt-get update && apt-get install -y git"]"#),
    Key { pointer: "/pip_config_file", holds: Holds::File, variable: None, example: r#""./pip.conf""# },
    plain("/pip_installer", r#""pip""#),
    plain("/keep_pkg_tools", r#"["pip"]"#),
    section("/auth", "LANGGRAPH_AUTH", r#"{"path": "./auth.py:auth"}"#),
    reference("/auth/path", Reference(Name, Any, "an `Auth` object"), r#""./auth.py:auth""#),
    section("/store", "LANGGRAPH_STORE", r#"{"ttl": {"default_ttl": 43200, "sweep_interval_minutes": 60}}"#),
    reference(
        "/store/index/embed",
        Reference(Model, Server, "an embedding function"),
        r#""openai:text-embedding-3-small""#,
    ),
    reference(
        "/store/path",
        Reference(Dotted, Server, "a store or a function that returns one"),
        r#""./store.py:make_store""#,
    ),
    section(
        "/checkpointer",
        "LANGGRAPH_CHECKPOINTER",
        r#"{"ttl": {"strategy": "delete", "default_ttl": 43200}}"#,
    ),
    reference(
        "/checkpointer/path",
        Reference(Dotted, Server, "a checkpointer or a function that returns one"),
        r#""./checkpointer.py:make_checkpointer""#,
    ),
    section("/http", HTTP, r#"{"app": "./app.py:app"}"#),
    reference("/http/app", Reference(Name, Any, "an app"), r#""./app.py:app""#),
    section("/webhooks", "LANGGRAPH_WEBHOOKS", r#"{"headers": {"X-Source": "agent"}}"#),
    section("/encryption", "LANGGRAPH_ENCRYPTION", r#"{"path": "./encryption.py:encryption"}"#),
    reference(
        "/encryption/path",
        Reference(Name, Server, "an `Encryption` object"),
        r#""./encryption.py:encryption""#,
    ),
    section("/priority", "LANGGRAPH_PRIORITY", r#"{"path": "./priority.py:priority"}"#),
    reference("/priority/path", Reference(Name, Python, "a function"), r#""./priority.py:priority""#),
    section("/ui", "LANGGRAPH_UI", r#"{"agent": "./ui.tsx"}"#),
    reference("/ui/*", Reference(File, Component, "a UI component"), r#""./ui.tsx""#),
    section("/ui_config", "LANGGRAPH_UI_CONFIG", r#"{"shared": ["@acme/components"]}"#),
    plain("/source", r#"{"kind": "uv", "root": "../.."}"#),
];

/// The row of the value at `pointer`.
pub fn row(pointer: &Pointer) -> Option<&'static Key> {
    let keys: Vec<String> = pointer.keys().collect();
    KEYS.iter().find(|row| {
        let parts = row.parts();
        parts.clone().count() == keys.len() && parts.zip(&keys).all(|(part, key)| part == "*" || part == key)
    })
}

/// The sections that the server gets, with the variable of each.
pub fn handed_over() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().filter_map(|row| Some((row.parts().next()?, row.variable?)))
}

impl Key {
    /// The parts of the pointer.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.pointer.split('/').skip(1)
    }
}
