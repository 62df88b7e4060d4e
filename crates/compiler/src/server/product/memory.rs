//! The server of `dev` in an image: it keeps its state in memory, and writes it to a directory every few seconds.

use super::{Installation, Product, Refusal, State};
use crate::server::local;

/// The server with its in-memory runtime.
pub static MEMORY: Product = Product {
    name: "memory",
    summary: "state in memory and on a volume; needs no key, and runs as one replica",
    purpose: "trying, tests and small internal tools",
    python_image: "python",
    javascript_image: Some("node"),
    tag_suffix: "-slim",
    installation: Some(Installation {
        version: "0.16.7",
        own: &["langgraph-api==0.16.7", "langgraph-runtime-inmem==0.36.7"],
        requirements: include_str!("../../../../../python/server/memory/requirements.txt"),
        files: &[],
        application: local::APPLICATION,
        defaults: &[("LOG_COLOR", "false"), ("PYTHONUNBUFFERED", "1")],
        variables: &[
            ("DATABASE_URI", ":memory:"),
            ("REDIS_URI", "fake"),
            ("LANGGRAPH_RUNTIME_EDITION", "inmem"),
            ("LANGGRAPH_DISABLE_FILE_PERSISTENCE", "false"),
            // The search for blocking calls is for development.
            ("LANGGRAPH_ALLOW_BLOCKING", "true"),
        ],
    }),
    state: State::Directory { volume: "agent-state", path: "/data" },
    keys: &[],
    refused: &[
        Refusal {
            pointer: "/checkpointer/backend",
            values: &["docdb", "mongo"],
            why: "it keeps checkpoints with its own state",
        },
        Refusal { pointer: "/checkpointer/ttl", values: &[], why: "it removes no threads" },
    ],
};
