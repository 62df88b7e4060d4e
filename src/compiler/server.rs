//! The contract of the server that images are built on: all that is known of it, as data. Nothing else in the
//! program may know its names.

/// The image of the Python server.
pub const PYTHON_IMAGE: &str = "langchain/langgraph-api";
/// The image of the JavaScript server.
pub const JAVASCRIPT_IMAGE: &str = "langchain/langgraphjs-api";
/// The tags of this repository start with the version of the server, and the language is appended.
pub const VERSIONED_REPOSITORY: &str = "langgraph-server";

/// The Python that an image has where none is asked for.
pub const DEFAULT_PYTHON: &str = "3.11";
/// The Node.js that an image has where none is asked for.
pub const DEFAULT_NODE: &str = "20";
/// The oldest Node.js that runs the server, as its major version.
pub const OLDEST_NODE: u64 = 20;
/// The distribution that a tag does not name.
pub const DEFAULT_DISTRO: &str = "debian";

/// The port that the server listens on inside its container.
pub const PORT: u16 = 8000;
/// How a container tells whether its server is well.
pub const HEALTHCHECK: &[&str] = &["python", "/api/healthcheck.py"];

/// A path file in the directory that Python installs packages into, as a word of the shell in the image.
pub const PATH_FILE: &str =
    r#""$(python3 -m sysconfig | sed -n 's/.*purelib = "\(.*\)"/\1/p')/agentcli.pth""#;

/// Where the project lies in an image. The same on every machine, whatever the directory is called there.
pub const PROJECT: &str = "/deps/app";
/// Versions that an installation must keep to, so that the server still runs.
pub const CONSTRAINTS: &str = "/api/constraints.txt";

/// The variable with the version of Node.js, where the Python server runs JavaScript graphs too.
pub const NODE_VERSION: &str = "NODE_VERSION";

/// What the configuration calls the document database, and what the server calls it.
pub const DOCUMENT_DATABASE: (&str, &str) = ("docdb", "mongo");
/// The variable with the address of the document database.
pub const DOCUMENT_DATABASE_URI: &str = "LS_MONGODB_URI";
/// The default of `webhooks.env_prefix` in the specification.
pub const WEBHOOK_PREFIX: &str = "AGENT_WEBHOOK_";

/// Distributions of the specification without an image, and the one to use instead.
pub const RETIRED_DISTROS: &[(&str, &str)] = &[("bullseye", "bookworm")];
/// Mount prefixes that the server reserves for itself.
pub const RESERVED_MOUNT_PREFIX: &str = "/noauth";
/// The variable with the origins of cross-origin requests, which `http.cors` overrides.
pub const CORS_ORIGINS: &str = "CORS_ALLOW_ORIGINS";
/// Endings of JavaScript files that the Python server takes for Python.
pub const UNKNOWN_ENDINGS: &[&str] = &[".tsx", ".jsx"];

/// What the value of a variable of the server must be; the server does not start with any other.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// `true`, `false`, `1` or `0`, in any case.
    Boolean,
    /// A whole number.
    Integer,
    /// JSON text.
    Json,
    /// A number.
    Number,
    /// A number of minutes, or JSON text.
    NumberOrJson,
    /// A path that starts with `/`.
    Path,
    /// A text with one of these lengths in bytes.
    Lengths(&'static [usize]),
    /// One of these words.
    Words(&'static [&'static str]),
}

/// Variables of the server and their forms.
pub const FORMS: &[(&str, Form)] = &[
    ("ALLOW_PRIVATE_NETWORK", Form::Boolean),
    ("BG_JOB_ISOLATED_LOOPS", Form::Boolean),
    ("BG_JOB_MAX_RETRIES", Form::Integer),
    ("BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", Form::Integer),
    ("BG_JOB_TIMEOUT_SECS", Form::Number),
    ("CHECKPOINT_BATCH_DELAY", Form::Number),
    ("CHECKPOINT_MAX_BATCH_SIZE", Form::Integer),
    ("CORS_CONFIG", Form::Json),
    ("DISPATCH_MODE", Form::Words(&["single-process", "multi-process"])),
    ("FF_CRONS_ENABLED", Form::Boolean),
    ("GRPC_CLIENT_POOL_SIZE", Form::Integer),
    ("HTTP_MAX_REQUEST_BODY_BYTES", Form::Integer),
    ("LANGCHAIN_TRACING", Form::Boolean),
    ("LANGCHAIN_TRACING_V2", Form::Boolean),
    ("LANGGRAPH_AES_KEY", Form::Lengths(&[16, 24, 32])),
    ("LANGGRAPH_CONFIG", Form::Json),
    ("LANGGRAPH_DEFAULT_RECURSION_LIMIT", Form::Integer),
    ("LANGGRAPH_JS_READY_TIMEOUT_SECS", Form::Integer),
    ("LANGGRAPH_LOGS_ENABLED", Form::Boolean),
    ("LANGGRAPH_METRICS_ENABLED", Form::Boolean),
    ("LANGGRAPH_METRICS_EXPORT_INTERVAL_MS", Form::Integer),
    ("LANGGRAPH_POSTGRES_EXTENSIONS", Form::Words(&["standard", "lite"])),
    ("LANGGRAPH_POSTGRES_POOL_MAX_SIZE", Form::Integer),
    ("LANGGRAPH_THREAD_TTL", Form::NumberOrJson),
    ("LANGSMITH_AUTH_VERIFY_TENANT_ID", Form::Boolean),
    ("LANGSMITH_TRACING", Form::Boolean),
    ("LANGSMITH_TRACING_V2", Form::Boolean),
    ("LOG_COLOR", Form::Boolean),
    ("LOG_JSON", Form::Boolean),
    ("LS_DEFAULT_CHECKPOINTER_BACKEND", Form::Words(&["default", "mongo"])),
    ("MAX_STREAM_CHUNK_SIZE_BYTES", Form::Integer),
    ("MOUNT_PREFIX", Form::Path),
    ("N_JOBS_PER_WORKER", Form::Integer),
    ("OTEL_ENABLED", Form::Boolean),
    ("REDIS_CLUSTER", Form::Boolean),
    ("REDIS_CONNECT_TIMEOUT", Form::Number),
    ("REDIS_HEALTH_CHECK_INTERVAL", Form::Number),
    ("REDIS_MAX_CONNECTIONS", Form::Integer),
    ("RESUMABLE_STREAM_TTL_SECONDS", Form::Integer),
    ("RUN_STATS_CACHE_SECONDS", Form::Integer),
    ("STATS_INTERVAL_SECS", Form::Integer),
];

/// Installs Node.js into the Python image.
pub const INSTALL_NODE: &str = "/storage/install-node.sh";
/// Prepares JavaScript graphs and UI components; older images do not have the script.
pub const BUILD_JAVASCRIPT: &str = "if [ -f /api/langgraph_api/js/build.mts ]; then tsx /api/langgraph_api/js/build.mts; \
     else echo 'no prebuild script in this image'; fi";

/// Packages of the server that an installation may have replaced, and must not.
pub const OWN_PACKAGES: &[&str] = &[
    "/api/langgraph_api/__init__.py",
    "/api/langgraph_runtime/__init__.py",
    "/api/langgraph_license/__init__.py",
];
/// What the server installs for itself, by normalised distribution name: a local package of such a name would take
/// its place.
pub const RESERVED_PACKAGES: &[&str] = &[
    "fastapi",
    "httpx",
    "langchain-core",
    "langgraph",
    "langgraph-api",
    "langsmith",
    "orjson",
    "psycopg",
    "pydantic",
    "uvicorn",
];
/// Where the server's own project lies, to be installed over whatever replaced it.
pub const OWN_PROJECT: &str = "/api";

/// Package tools of the Python image.
pub const PACKAGE_TOOLS: &[&str] = &["pip", "setuptools", "wheel"];
/// Programs of each tool, as shell patterns that match nothing of other packages, such as pipx or pip-audit.
pub const TOOL_PROGRAMS: &[(&str, &[&str])] =
    &[("pip", &["pip", "pip3", "pip3.[0-9]*"]), ("wheel", &["wheel"])];
/// Programs of uv, which goes when all package tools go.
pub const UV_PROGRAMS: [&str; 2] = ["uv", "uvx"];
/// What each tool leaves in the import path besides itself.
pub const TOOL_LEFTOVERS: &[(&str, &[&str])] = &[
    ("pip", &[]),
    ("setuptools", &["pkg_resources", "_distutils_hack", "distutils-precedence.pth"]),
    ("wheel", &[]),
];

/// The server without a container: the in-memory runtime, as it is published for development.
pub mod local {
    /// The Python server's packages, at the versions that are tested together: distribution and version. The extra
    /// `inmem` in pyproject.toml installs the same.
    pub const SERVER: &[(&str, &str)] = &[("langgraph-api", "0.16.7"), ("langgraph-runtime-inmem", "0.36.7")];

    /// The packages of the JavaScript server and what it needs beside it, at versions that work together.
    pub const JAVASCRIPT_SERVER: &[(&str, &str)] = &[
        ("@langchain/langgraph-api", "2.0.0"),
        ("@langchain/langgraph", "1.1.0"),
        ("@langchain/langgraph-checkpoint", "1.0.0"),
        ("@langchain/langgraph-sdk", "2.0.0"),
        ("@langchain/core", "1.1.48"),
        ("typescript", "5.9.3"),
        TSX,
    ];
    /// What runs TypeScript under Node.js.
    pub const TSX: (&str, &str) = ("tsx", "4.23.15");
    /// Its files, below the directory that it is installed into: TypeScript for Node.js, what makes it take the
    /// project's own packages, and the server.
    pub const JAVASCRIPT_FILES: [&str; 3] = [
        "node_modules/tsx/dist/loader.mjs",
        "node_modules/@langchain/langgraph-api/dist/preload.mjs",
        "node_modules/@langchain/langgraph-api/dist/server.mjs",
    ];
    /// The sections of the configuration that it takes, by the same names.
    pub const JAVASCRIPT_SETTINGS: &[&str] = &["graphs", "auth", "http", "ui", "ui_config"];
    /// What the JavaScript server is told beside what every server is.
    pub const JAVASCRIPT_VARIABLES: &[(&str, &str)] = &[("NODE_ENV", "development")];

    /// The JavaScript half of the Python server, below the directory that Python packages are in: its package.json
    /// and yarn.lock say what it needs.
    pub const BRIDGE: &str = "langgraph_api/js";
    /// What lets the Python server run JavaScript graphs: its variant for development refuses them.
    pub const BRIDGE_VARIABLES: &[(&str, &str)] = &[("LANGSMITH_LANGGRAPH_API_VARIANT", "local")];
    /// The ports of this machine that the halves talk over: the variables' names.
    pub const BRIDGE_PORTS: &[&str] =
        &["LANGGRAPH_JS_REMOTE_PORT", "LANGGRAPH_JS_GRAPH_PORT", "LANGGRAPH_JS_GRAPH_HTTP_PORT"];

    /// The port it listens on.
    pub const PORT: u16 = 2024;

    /// The oldest Python that runs it, as major and minor.
    pub const OLDEST_PYTHON: (u32, u32) = (3, 11);

    /// The application that a web server is given.
    pub const APPLICATION: &str = "langgraph_api.server:app";
    /// What formats its log.
    pub const LOG_FORMATTER: &str = "langgraph_api.logging.Formatter";
    /// Loggers that the level of the server's log applies to.
    pub const LOGGERS: &[&str] = &["uvicorn", "uvicorn.error", "langgraph_api.server"];

    /// Where it keeps its state, relative to the directory that it works in.
    pub const STATE: &str = ".langgraph_api";

    /// What it is told: no databases, state in files, nothing reported to anybody.
    pub const VARIABLES: &[(&str, &str)] = &[
        ("MIGRATIONS_PATH", "__inmem"),
        ("DATABASE_URI", ":memory:"),
        ("REDIS_URI", "fake"),
        ("LANGGRAPH_RUNTIME_EDITION", "inmem"),
        ("LANGGRAPH_DISABLE_FILE_PERSISTENCE", "false"),
        ("LANGSMITH_LANGGRAPH_API_VARIANT", "local_dev"),
        ("LANGGRAPH_UI_BUNDLER", "true"),
        // A page from elsewhere may talk to a server on this machine.
        ("ALLOW_PRIVATE_NETWORK", "true"),
        // Keys of a hosted service would make it report what it runs; tracing has a key of its own.
        ("LANGSMITH_CONTROL_PLANE_API_KEY", ""),
        ("LANGGRAPH_CLOUD_LICENSE_KEY", ""),
        ("LANGGRAPH_NO_VERSION_CHECK", "true"),
        ("LANGGRAPH_CLI_NO_ANALYTICS", "1"),
    ];
    /// How many runs it works on at once: the variable's name.
    pub const JOBS: &str = "N_JOBS_PER_WORKER";
    /// Whether blocking calls in asynchronous code are let through: the variable's name.
    pub const ALLOW_BLOCKING: &str = "LANGGRAPH_ALLOW_BLOCKING";
    /// Where it is reached: the variable's name.
    pub const URL: &str = "LANGGRAPH_API_URL";

    /// What all its routes begin with: the variables' names, the one that wins first.
    pub const MOUNT_PREFIX: &[&str] = &["LANGGRAPH_MOUNT_PREFIX", "MOUNT_PREFIX"];
    /// How much it logs: the variable's name.
    pub const LOG_LEVEL: &str = "LOG_LEVEL";
    /// Whether the log is in colour: the variable's name.
    pub const LOG_COLOUR: &str = "LOG_COLOR";

    /// The route that tells whether it is well.
    pub const OK_ROUTE: &str = "/ok";
    /// The route of its API's documentation.
    pub const DOCS_ROUTE: &str = "/docs";
    /// The hosted studio, and what follows its address and comes before the server's.
    pub const STUDIO: (&str, &str) = ("https://smith.langchain.com", "/studio/?baseUrl=");
}

/// The hosted service's own tool: the variables that it reads, for projects that were set up for it.
pub mod hosted {
    /// The service's address.
    pub const HOST: &str = "LANGGRAPH_HOST_URL";
    /// Where the platform takes traces that the service belongs to: where [`HOST`] is not given, that says where it is.
    pub const ENDPOINT: &str = "LANGSMITH_ENDPOINT";
    /// The key, the one that wins first.
    pub const KEYS: &[&str] = &["LANGGRAPH_HOST_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"];
    /// The workspace.
    pub const TENANT: &str = "LANGSMITH_TENANT_ID";
    /// The deployment's name.
    pub const NAME: &str = "LANGSMITH_DEPLOYMENT_NAME";
    /// The name of its configuration file.
    pub const CONFIGURATION: &str = "langgraph.json";
    /// The default of `webhooks.env_prefix` there, which is the server's own.
    pub const WEBHOOK_PREFIX: &str = "LG_WEBHOOK_";

    /// Variables that the service sets itself, or that are for the tool alone: they cannot be secrets of a deployment.
    pub const RESERVED: &[&str] = &[
        "AGENT_HOST_API_KEY",
        "AGENT_HOST_URL",
        "DATABASE_URI",
        "DD_TRACE_PSYCOPG_ENABLED",
        "DD_TRACE_REDIS_ENABLED",
        "FRAMEWORK_API_KEY",
        "LANGCHAIN_API_KEY",
        "LANGCHAIN_CALLBACKS_BACKGROUND",
        "LANGCHAIN_ENDPOINT",
        "LANGCHAIN_PROJECT",
        "LANGCHAIN_TRACING_V2",
        "LANGGRAPH_AUTH_TYPE",
        "LANGGRAPH_CLOUD_LICENSE_KEY",
        "LANGGRAPH_GIT_REPO_PATH",
        "LANGGRAPH_HOST_API_KEY",
        "LANGGRAPH_HOST_URL",
        "LANGSMITH_API_KEY",
        "LANGSMITH_AUTH_ENDPOINT",
        "LANGSMITH_AUTH_VERIFY_TENANT_ID",
        "LANGSMITH_CONTROL_PLANE_API_KEY",
        "LANGSMITH_DEPLOYMENT_NAME",
        "LANGSMITH_ENDPOINT",
        "LANGSMITH_HOST_PROJECT_ID",
        "LANGSMITH_HOST_PROJECT_NAME",
        "LANGSMITH_HOST_REVISION_ID",
        "LANGSMITH_LANGGRAPH_GIT_REF",
        "LANGSMITH_LANGGRAPH_GIT_REF_SHA",
        "LANGSMITH_LANGGRAPH_GIT_REPO",
        "LANGSMITH_PROJECT",
        "LANGSMITH_TENANT_ID",
        "LANGSMITH_TRACING_V2",
        "LOG_DICT_TRACEBACKS",
        "LOG_JSON",
        "LSD_DD_API_KEY",
        "LSD_DD_ENDPOINT",
        "LSD_DEPLOYMENT_TYPE",
        "LSD_ENV",
        "MOUNT_PREFIX",
        "PATH",
        "PLATFORM_API_KEY",
        "PLATFORM_DEPLOYMENT_NAME",
        "PLATFORM_TENANT_ID",
        "PORT",
        "POSTGRES_PASSWORD",
        "POSTGRES_URI",
        "POSTGRES_URI_CUSTOM",
        "REDIS_URI",
        "REDIS_URI_CUSTOM",
    ];
}

/// The server in containers, with what it needs beside it. Names of services and of the volume are those that users of
/// the server's own tool know, so that a compose file which adds services to that one's works here too.
pub mod setup {
    /// What a service that is not the server's consists of.
    pub struct Service {
        /// Its name, also as a host.
        pub name: &'static str,
        /// Its image.
        pub image: &'static str,
        /// Its command, where it is not the image's own.
        pub command: &'static [&'static str],
        /// Variables.
        pub environment: &'static [(&'static str, &'static str)],
        /// The command that tells whether it is well; empty where there is none.
        pub health: &'static [&'static str],
        /// How long it may take until it is, at most, in seconds.
        pub start_period: u32,
    }

    /// Where runs are announced. It keeps nothing.
    pub const REDIS: Service = Service {
        name: "langgraph-redis",
        image: "redis:6",
        command: &[],
        environment: &[],
        health: &["redis-cli", "ping"],
        start_period: 30,
    };
    /// Where everything is kept. It is reached by the other services alone, so that its password is none.
    pub const POSTGRES: Service = Service {
        name: "langgraph-postgres",
        image: "pgvector/pgvector:pg16",
        command: &["postgres", "-c", "shared_preload_libraries=vector"],
        environment: &[
            ("POSTGRES_DB", "postgres"),
            ("POSTGRES_USER", "postgres"),
            ("POSTGRES_PASSWORD", "postgres"),
        ],
        // Over TCP: while the data is laid out for the first time, another server answers on the socket.
        health: &["pg_isready", "-h", "127.0.0.1", "-U", "postgres", "-d", "postgres"],
        start_period: 60,
    };
    /// The volume that it keeps it in, and where that is in its container.
    pub const DATA: (&str, &str) = ("langgraph-data", "/var/lib/postgresql/data");
    /// The debugger's page.
    pub const DEBUGGER: Service = Service {
        name: "langgraph-debugger",
        image: "langchain/langgraph-debugger",
        command: &[],
        environment: &[],
        health: &[],
        start_period: 0,
    };
    /// The port that the debugger listens on.
    pub const DEBUGGER_PORT: u16 = 3968;
    /// What tells the debugger where a browser finds the server.
    pub const DEBUGGER_BASE_URL: &str = "VITE_STUDIO_LOCAL_GRAPH_URL";

    /// The server's own name.
    pub const SERVER: &str = "langgraph-api";
    /// How long the server may take until it is well, in seconds: at its first start it lays out the database.
    pub const SERVER_START_PERIOD: u32 = 120;
    /// The port of this machine that it is reached at.
    pub const PORT: u16 = 8123;
    /// Its port in its container: the variable's name.
    pub const PORT_VARIABLE: &str = "PORT";
    /// Where it finds Redis.
    pub const REDIS_URI: (&str, &str) = ("REDIS_URI", "redis://langgraph-redis:6379");
    /// Where it finds its database: by the first of these in all its releases, by the second where both are set.
    pub const DATABASE_VARIABLES: &[&str] = &["POSTGRES_URI", "DATABASE_URI"];
    /// The database of the setup.
    pub const DATABASE_URI: &str =
        "postgres://postgres:postgres@langgraph-postgres:5432/postgres?sslmode=disable";
    /// What holds the address of a database of the user's own where the setup is started.
    pub const OWN_DATABASE: &str = "POSTGRES_URI";

    /// A key that the server may ask for.
    pub struct Key {
        /// The name that it reads.
        pub variable: &'static str,
        /// Another name that it knows itself.
        pub legacy: Option<&'static str>,
        /// Names that it is found by where the setup is started, the one that wins first.
        pub found_by: &'static [&'static str],
    }
    /// One of these is needed where the server checks who runs it.
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
        Key {
            variable: "LANGGRAPH_CLOUD_LICENSE_KEY",
            legacy: None,
            found_by: &["LANGGRAPH_CLOUD_LICENSE_KEY"],
        },
    ];

    /// Between two looks at whether a service is well, in seconds.
    pub const INTERVAL: u32 = 5;
    /// The same while it starts, on engines that know the difference.
    pub const START_INTERVAL: u32 = 1;
    /// How long a look may take, in seconds.
    pub const TIMEOUT: u32 = 5;
    /// Failed looks in a row after which it is not well.
    pub const RETRIES: u32 = 5;
}
