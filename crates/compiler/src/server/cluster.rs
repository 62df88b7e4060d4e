//! The server in a cluster: its processes, their variables, ports and probes. The facts about the distributed runtime are
//! those of the server's own tool, and those about queue workers are from its package.

/// Variable with the time that a stopping server gives its runs, in seconds.
pub const DRAIN_VARIABLE: &str = "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS";
/// The server's default of [`DRAIN_VARIABLE`].
pub const DRAIN: u64 = 180;

/// Variable with the number of runs that a process executes at a time. 0 leaves them to other processes.
pub const JOBS_VARIABLE: &str = "N_JOBS_PER_WORKER";
/// Variable that switches the scheduler of cron jobs.
pub const CRONS_VARIABLE: &str = "FF_CRONS_ENABLED";

/// Command of a queue worker, which executes runs and serves no API.
pub const QUEUE_COMMAND: &[&str] = &["python", "-m", "langgraph_api.queue_entrypoint"];

/// Image of the orchestrator of the distributed runtime.
pub const ORCHESTRATOR_IMAGE: &str = "langchain/langgraph-orchestrator-licensed:latest";
/// Port of the orchestrator.
pub const ORCHESTRATOR_PORT: u16 = 50054;
/// Variable of the orchestrator with the host and port of the executors.
pub const EXECUTOR_TARGET: &str = "EXECUTOR_TARGET";
/// Base image of the executors of the distributed runtime.
pub const EXECUTOR_IMAGE: &str = "langchain/langgraph-executor";
/// Command of an executor.
pub const EXECUTOR_COMMAND: &[&str] = &["sh", "/storage/executor_entrypoint.sh"];
/// Port of an executor.
pub const EXECUTOR_PORT: u16 = 8188;
/// Variable of an executor with its port.
pub const EXECUTOR_PORT_VARIABLE: &str = "EXECUTOR_GRPC_PORT";
/// Variable of an executor with the host and port of the orchestrator.
pub const ORCHESTRATOR_TARGET: &str = "ENGINE_GRPC_ADDRESS";
/// Further variables of an executor.
pub const EXECUTOR_VARIABLES: &[(&str, &str)] =
    &[("LSD_GRPC_SERVER_ADDRESS", "localhost:50050"), ("LANGGRAPH_HTTP", "")];

/// Port of Redis.
pub const REDIS_PORT: u16 = 6379;
/// Port of PostgreSQL.
pub const POSTGRES_PORT: u16 = 5432;
/// Variable of PostgreSQL with the password of its user, which our URL of the database refers to.
pub const PASSWORD_VARIABLE: &str = "POSTGRES_PASSWORD";
/// Variable of PostgreSQL with its directory. Volumes have a directory of their file system at their root, which PostgreSQL
/// refuses.
pub const DATA_VARIABLE: &str = "PGDATA";
/// Setting of PostgreSQL with the maximum number of connections.
pub const CONNECTIONS: &str = "max_connections";

/// URL of a database on `host`, with a reference to the variable of the password that Kubernetes expands.
pub fn database_uri(host: &str) -> String {
    format!("postgres://postgres:$({PASSWORD_VARIABLE})@{host}:{POSTGRES_PORT}/postgres?sslmode=disable")
}

/// URL of Redis on `host`.
pub fn redis_uri(host: &str) -> String {
    format!("redis://{host}:{REDIS_PORT}")
}
