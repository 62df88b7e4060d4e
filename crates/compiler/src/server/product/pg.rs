//! The server of `dev` with a published runtime for PostgreSQL and Redis. The runtime was made for another version of the
//! server: `agentcli_adapter.py` supplies what it lacks, and refuses other versions than those in its requirements.

use super::{Installation, Product, Refusal, State};

/// The server with a runtime for PostgreSQL and Redis.
pub static PG: Product = Product {
    name: "pg",
    summary: "state in PostgreSQL and Redis; needs no key",
    purpose: "servers with replicas, whose runs survive crashes",
    python_image: "python",
    javascript_image: None,
    tag_suffix: "-slim",
    installation: Some(Installation {
        version: "0.16.7",
        own: &[
            "langgraph-api==0.16.7",
            "langgraph-runtime-pg==0.11.1.post1",
            "langgraph-checkpoint-postgres==3.2.0",
        ],
        requirements: include_str!("../../../../../python/server/pg/requirements.txt"),
        files: &[
            ("agentcli_adapter.py", include_str!("../../../../../python/server/pg/agentcli_adapter.py")),
            ("migrate.py", include_str!("../../../../../python/server/pg/migrate.py")),
        ],
        application: "agentcli_adapter:app",
        // A killed server's runs are taken up after two to three times the heartbeat.
        defaults: &[("LG_BG_JOB_HEARTBEAT", "5"), ("LOG_COLOR", "false"), ("PYTHONUNBUFFERED", "1")],
        variables: &[("LANGGRAPH_RUNTIME_EDITION", "pg"), ("LG_RUNTIME_PG_AUTO_MIGRATE", "false")],
    }),
    state: State::Databases { migrations: Some(&["python3", "/api/migrate.py"]) },
    keys: &[],
    refused: &[
        Refusal {
            pointer: "/checkpointer/backend",
            values: &["docdb", "mongo"],
            why: "it keeps checkpoints in PostgreSQL",
        },
        Refusal { pointer: "/checkpointer/ttl", values: &[], why: "it removes no threads" },
        Refusal { pointer: "/store/index", values: &[], why: "it does not search by similarity" },
        Refusal { pointer: "/store/ttl", values: &[], why: "it removes no items by itself" },
    ],
};
