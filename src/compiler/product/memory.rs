//! The server of `dev` in an image: it keeps its state in memory, and writes it to a directory every few seconds.

use super::{Installation, Product, Refusal, State};
use crate::compiler::server::local;

/// The server with its in-memory runtime.
pub static MEMORY: Product = Product {
    name: "memory",
    summary: "state in memory and on a volume; needs no key, and runs as one replica",
    python_image: "python",
    javascript_image: None,
    tag_suffix: "-slim",
    installation: Some(Installation {
        version: "0.16.7",
        own: &["langgraph-api==0.16.7", "langgraph-runtime-inmem==0.36.7"],
        lock: include_str!("memory/packages.lock"),
        files: &[],
        application: local::APPLICATION,
        defaults: &[("LOG_COLOR", "false"), ("PYTHONUNBUFFERED", "1")],
        variables: &[
            // A path with `inmem` enables routes for tests of the server, which need no authentication.
            ("MIGRATIONS_PATH", "off"),
            ("DATABASE_URI", ":memory:"),
            ("REDIS_URI", "fake"),
            ("LANGGRAPH_RUNTIME_EDITION", "inmem"),
            ("LANGGRAPH_DISABLE_FILE_PERSISTENCE", "false"),
            // Not `local_dev`: there, a header of the hosted studio replaces the authentication of the project.
            ("LANGSMITH_LANGGRAPH_API_VARIANT", "local"),
            // The search for blocking calls is for development.
            ("LANGGRAPH_ALLOW_BLOCKING", "true"),
            ("LANGGRAPH_NO_VERSION_CHECK", "true"),
            ("LANGGRAPH_CLI_NO_ANALYTICS", "1"),
            // With keys of a hosted service, the server would report runs; tracing has its own key.
            ("LANGSMITH_CONTROL_PLANE_API_KEY", ""),
            ("LANGGRAPH_CLOUD_LICENSE_KEY", ""),
        ],
    }),
    state: State::Directory { volume: "agent-state", path: "/data" },
    keys: &[],
    refused: &[
        Refusal { pointer: "/ui", values: &[], why: "it has no Node.js for UI components" },
        Refusal { pointer: "/node_version", values: &[], why: "it has no Node.js" },
        Refusal {
            pointer: "/checkpointer/backend",
            values: &["docdb", "mongo"],
            why: "it keeps checkpoints with its own state",
        },
        Refusal { pointer: "/image_distro", values: &["wolfi"], why: "there is no such base image for it" },
    ],
};
