//! The contract of the server that images are built on, as data. No other module knows its names, except for the
//! variables in the table of keys.

pub mod cluster;
pub mod files;
pub mod hosted;
pub mod local;
pub mod product;
pub mod setup;

/// The image of the Python server.
pub const PYTHON_IMAGE: &str = "langchain/langgraph-api";
/// The image of the JavaScript server.
pub const JAVASCRIPT_IMAGE: &str = "langchain/langgraphjs-api";
/// Repository with tags of the form `<server version>-<language>`.
pub const VERSIONED_REPOSITORY: &str = "langgraph-server";

/// Default Python version of an image.
pub const DEFAULT_PYTHON: &str = "3.11";
/// Series of Python that there are images of, oldest first.
pub const PYTHONS: &[(u8, u8)] = &[(3, 11), (3, 12), (3, 13), (3, 14)];
/// Default major version of Node.js in an image.
pub const DEFAULT_NODE: &str = "20";
/// Oldest supported major version of Node.js.
pub const OLDEST_NODE: u64 = 20;
/// The distribution of tags without a distribution.
pub const DEFAULT_DISTRO: &str = "debian";

/// Port of the server in its container.
pub const PORT: u16 = 8000;
/// Health check command of the container.
pub const HEALTHCHECK: &[&str] = &["python", "/api/healthcheck.py"];

/// The variable with further directories that Python imports modules from.
pub const IMPORT_PATH: &str = "PYTHONPATH";

/// Directory of the project in an image. It does not depend on the name of the directory on this machine.
pub const PROJECT: &str = "/deps/app";
/// Starts of the directories that the server's own tool copies a project without a manifest to.
pub const OUTER_DIRECTORIES: &[&str] = &["/deps/outer-", "/deps/__outer_"];
/// Constraints file for installations, which keeps the versions that the server needs.
pub const CONSTRAINTS: &str = "/api/constraints.txt";

/// The variable with the Node.js version of a Python image that also runs JavaScript graphs.
pub const NODE_VERSION: &str = "NODE_VERSION";

/// Name of the document database in the configuration, and in the server.
pub const DOCUMENT_DATABASE: (&str, &str) = ("docdb", "mongo");
/// The variable with the address of the document database.
pub const DOCUMENT_DATABASE_URI: &str = "LS_MONGODB_URI";
/// The default of `webhooks.env_prefix` in the specification.
pub const WEBHOOK_PREFIX: &str = "AGENT_WEBHOOK_";

/// Distributions of the specification that have no image any more, with their replacements.
pub const RETIRED_DISTROS: &[(&str, &str)] = &[("bullseye", "bookworm")];
/// Mount prefix that the server reserves for itself.
pub const RESERVED_MOUNT_PREFIX: &str = "/noauth";
/// The variable with the origins of cross-origin requests, which `http.cors` overrides.
pub const CORS_ORIGINS: &str = "CORS_ALLOW_ORIGINS";
/// The variable that overrides `http.cors`.
pub const CORS_SETTINGS: &str = "CORS_CONFIG";
/// Extensions of JavaScript files that the Python server treats as Python.
pub const UNKNOWN_ENDINGS: &[&str] = &[".tsx", ".jsx"];

/// Keys whose references the server looks up in the dictionary of the module, so that its `__getattr__` is not asked.
pub const LOOKED_UP: &[&str] = &["/graphs/*", "/graphs/*/path", "/store/path", "/checkpointer/path"];

/// Normalised name of the server's distribution.
pub const DISTRIBUTION: &str = "langgraph-api";
/// Normalised names of the server's own distributions. An image has them, so that those of a lock file, which are for
/// `dev` and for tests, are not installed.
pub const DISTRIBUTIONS: &[&str] = &[
    DISTRIBUTION,
    "langgraph-license",
    "langgraph-runtime",
    "langgraph-runtime-inmem",
    "langgraph-runtime-postgres",
];
/// The tool that runs the server on a developer's machine, and its extra that requires the server.
pub const LOCAL_TOOL: (&str, &str) = ("langgraph-cli", "inmem");
/// Normalised names of distributions that the server needs: a local package of the same name would replace them.
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
/// The server that the newest images have, of which older versions do not fit their other packages.
pub const CURRENT: (&str, &str) = ("langgraph-api", ">=0.16");
/// The requirements of the current server that have bounds, and those of its constraints file. The bound of langchain-core
/// is that of all versions of langgraph-sdk that it allows: with an older one, the server does not start.
pub const REQUIREMENTS: &[(&str, &str)] = &[
    ("anyio", ">=4.14.2"),
    ("cloudpickle", ">=3.0.0"),
    ("cryptography", ">=50.0.0"),
    ("grpcio", ">=1.81.0,<1.82.0"),
    ("grpcio-health-checking", ">=1.81.0,<1.82.0"),
    ("grpcio-tools", "==1.81.1"),
    ("httptools", ">=0.5.0"),
    ("httpx", ">=0.25.0"),
    ("jsonschema-rs", ">=0.20.0,<0.45"),
    ("langchain-core", ">=1.4.0"),
    ("langchain-protocol", ">=0.0.18,<0.1"),
    ("langgraph", ">=0.4.10,<2"),
    ("langgraph-checkpoint", ">=3.0.1,<5"),
    ("langgraph-sdk", ">=0.4.4"),
    ("langsmith", ">=0.7.31"),
    ("orjson", ">=3.9.7"),
    ("protobuf", ">=6.32.1,<7.0.0"),
    ("pyjwt", ">=2.15.0"),
    ("sse-starlette", ">=2.1.3,<4.0.0"),
    ("starlette", ">=1.3.1"),
    ("structlog", ">=24.1.0,<26"),
    ("tenacity", ">=8.0.0"),
    ("uuid-utils", ">=0.16.2"),
    ("uvicorn", ">=0.26.0"),
    ("uvloop", ">=0.18.0"),
    ("watchfiles", ">=0.13"),
    ("websockets", ">=13.0"),
    ("zstandard", ">=0.23.0"),
];
/// Versions of other distributions that exclude a requirement of the current server, with the name of that requirement:
/// they were resolved together with [`REQUIREMENTS`], by what they publish (2026-11). No versions are
/// all.
pub const EXCLUDING: &[(&str, &str, &str)] = &[
    ("copilotkit", "<0.1.85", "langgraph-sdk"),
    ("fastapi", "<0.133", "starlette"),
    ("google-api-core", ">=2.8.1,<2.24.2", "protobuf"),
    ("google-generativeai", "", "protobuf"),
    ("langchain", "<1", "langchain-core"),
    // 1.2.11 lacks the bounds of the versions around it.
    ("langchain", ">=1,<1.2.11", "langgraph-sdk"),
    ("langchain", ">1.2.11,<1.3", "langgraph-sdk"),
    ("langchain-anthropic", "<0.3.21", "langchain-core"),
    ("langchain-anthropic", ">0.3.21,<1", "langchain-core"),
    ("langchain-aws", "<1", "langchain-core"),
    ("langchain-community", "<0.3.29", "langchain-core"),
    ("langchain-deepseek", "<1", "langchain-core"),
    ("langchain-elasticsearch", "<1", "langchain-core"),
    ("langchain-google-genai", "<2.1.11", "langchain-core"),
    ("langchain-groq", "<1", "langchain-core"),
    ("langchain-huggingface", "<1", "langchain-core"),
    ("langchain-mcp-adapters", "<0.1.11", "langchain-core"),
    ("langchain-ollama", "<0.3.9", "langchain-core"),
    ("langchain-openai", "<0.3.34", "langchain-core"),
    ("langchain-openai", ">0.3.34,<1", "langchain-core"),
    ("langchain-postgres", "<0.0.16", "langchain-core"),
    ("langchain-tavily", "<0.2.12", "langchain-core"),
    ("langchain-text-splitters", "<0.3.10", "langchain-core"),
    // 0.4.10 and 0.5.0 allow it, but the server does not start with them.
    ("langgraph", "<1.2.3", "langgraph-sdk"),
    ("langgraph-checkpoint-postgres", "<3", "langgraph-checkpoint"),
    ("langgraph-checkpoint-sqlite", "<2.0.8", "langgraph-checkpoint"),
    ("langgraph-supervisor", "<0.0.25", "langgraph"),
    ("langgraph-swarm", "<0.1", "langgraph"),
];

/// Package tools of the Python image.
pub const PACKAGE_TOOLS: &[&str] = &["pip", "setuptools", "wheel"];
