//! The server in containers, with the services that it needs. The services and the volume have the same names as in the
//! server's own tool, so compose files that extend its services work here too.

/// A service besides the server.
pub struct Service {
    /// Name, which is also the host name.
    pub name: &'static str,
    /// Image.
    pub image: &'static str,
    /// Command; empty for that of the image.
    pub command: &'static [&'static str],
    /// Environment variables.
    pub environment: &'static [(&'static str, &'static str)],
    /// Health check command; empty for none.
    pub health: &'static [&'static str],
    /// Start period of the health check, in seconds.
    pub start_period: u32,
}

/// Variable and password of the database's user.
pub const PASSWORD: (&str, &str) = ("POSTGRES_PASSWORD", "postgres");
/// The queue of runs; without persistence.
pub const REDIS: Service = Service {
    name: "langgraph-redis",
    image: "redis:6",
    command: &[],
    environment: &[],
    health: &["redis-cli", "ping"],
    start_period: 30,
};
/// The database. Its user and its database have the names that are the image's default. Only the other services can reach
/// it, so the password need not be secret.
pub const POSTGRES: Service = Service {
    name: "langgraph-postgres",
    image: "pgvector/pgvector:pg16",
    command: &[],
    environment: &[PASSWORD],
    // Over TCP: during the first initialisation, a temporary server listens on the socket.
    health: &["pg_isready", "-h", "127.0.0.1", "-U", "postgres"],
    start_period: 60,
};
/// The databases of servers that keep their state in databases.
pub const DATABASES: &[Service] = &[REDIS, POSTGRES];
/// Volume of the database, and its path in the container.
pub const DATA: (&str, &str) = ("langgraph-data", "/var/lib/postgresql/data");
/// The web page of the debugger.
pub const DEBUGGER: Service = Service {
    name: "langgraph-debugger",
    image: "langchain/langgraph-debugger",
    command: &[],
    environment: &[],
    health: &[],
    start_period: 0,
};
/// Port of the debugger in its container.
pub const DEBUGGER_PORT: u16 = 3968;
/// Variable of the debugger with the URL of the server for browsers.
pub const DEBUGGER_BASE_URL: &str = "VITE_STUDIO_LOCAL_GRAPH_URL";

/// Service name of the migrations of the database, which end before the server starts.
pub const MIGRATIONS: &str = "langgraph-migrations";
/// Service name of the server.
pub const SERVER: &str = "langgraph-api";
/// Start period of the server's health check, in seconds: its first start initialises the database.
pub const SERVER_START_PERIOD: u32 = 120;
/// Default port of the server on the host.
pub const PORT: u16 = 8123;
/// Variable with the port of the server in its container.
pub const PORT_VARIABLE: &str = "PORT";
/// Variable and URL of Redis.
pub const REDIS_URI: (&str, &str) = ("REDIS_URI", "redis://langgraph-redis:6379");
/// Variable with a prefix of all keys in Redis, which separates servers that share one.
pub const REDIS_PREFIX: &str = "REDIS_KEY_PREFIX";
/// Variable with the time in seconds that the server gives its runs to end when it is stopped; its default and maximum.
pub const GRACE: (&str, u64, u64) = ("BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", 180, 3600);
/// Variables with the URL of the database. All releases read the first; the second takes precedence.
pub const DATABASE_VARIABLES: [&str; 2] = ["POSTGRES_URI", "DATABASE_URI"];
/// URL of the database, before and after the password.
pub const DATABASE_URI: [&str; 2] =
    ["postgres://postgres:", "@langgraph-postgres:5432/postgres?sslmode=disable"];
/// Variable with the maximum number of connections of a server to the database.
pub const DATABASE_POOL: &str = "LANGGRAPH_POSTGRES_POOL_MAX_SIZE";
/// Variable of the caller with the URL of their own database.
pub const OWN_DATABASE: &str = "POSTGRES_URI";

/// A key that the server may need.
pub struct Key {
    /// Variable that the server reads.
    pub variable: &'static str,
    /// Older name that the server reads too.
    pub legacy: Option<&'static str>,
    /// Variables of the caller that may hold it, in order of precedence.
    pub found_by: &'static [&'static str],
}
/// Keys that the server accepts; it needs one if it checks its licence.
pub const KEYS: &[Key] = &[
    Key {
        variable: "LANGSMITH_API_KEY",
        legacy: Some("LANGCHAIN_API_KEY"),
        found_by: &[
            "LANGSMITH_API_KEY",
            "PLATFORM_API_KEY",
            "AGENT_HOST_API_KEY",
            "FRAMEWORK_API_KEY",
            "LANGCHAIN_API_KEY",
        ],
    },
    Key { variable: "LANGGRAPH_CLOUD_LICENSE_KEY", legacy: None, found_by: &["LANGGRAPH_CLOUD_LICENSE_KEY"] },
];

/// URL of the database with its password.
pub fn database_uri() -> String {
    DATABASE_URI.join(PASSWORD.1)
}

/// Interval between health checks, in seconds.
pub const INTERVAL: u32 = 5;
/// Interval during the start period, in seconds, on engines that support it.
pub const START_INTERVAL: u32 = 1;
/// Timeout of a health check, in seconds.
pub const TIMEOUT: u32 = 5;
/// Consecutive failures before a service is unhealthy.
pub const RETRIES: u32 = 5;
