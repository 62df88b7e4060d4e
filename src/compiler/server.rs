//! The contract of the server that images are built on: all that is known of it, as data. Nothing else in the
//! program may know its names.

/// The image of the Python server.
pub const PYTHON_IMAGE: &str = "langchain/langgraph-api";
/// The image of the JavaScript server.
pub const JAVASCRIPT_IMAGE: &str = "langchain/langgraphjs-api";
/// Repositories of this name carry the version in the tag already, so that the language is appended to it.
pub const VERSIONED_REPOSITORY: &str = "/langgraph-server";

/// The Python that an image has where none is asked for.
pub const DEFAULT_PYTHON: &str = "3.11";
/// The Node.js that an image has where none is asked for.
pub const DEFAULT_NODE: &str = "20";
/// The distribution that a tag does not name.
pub const DEFAULT_DISTRO: &str = "debian";

/// The port that the server listens on inside its container.
pub const PORT: u16 = 8000;
/// How a container tells whether its server is well.
pub const HEALTHCHECK: &[&str] = &["python", "/api/healthcheck.py"];

/// Where the project lies in an image. The same on every machine, whatever the directory is called there.
pub const PROJECT: &str = "/deps/app";
/// Versions that an installation must keep to, so that the server still runs.
pub const CONSTRAINTS: &str = "/api/constraints.txt";

/// Where each part of the configuration is handed over: the variable's name.
pub mod variables {
    /// `auth`
    pub const AUTH: &str = "LANGGRAPH_AUTH";
    /// `checkpointer`
    pub const CHECKPOINTER: &str = "LANGGRAPH_CHECKPOINTER";
    /// `encryption`
    pub const ENCRYPTION: &str = "LANGGRAPH_ENCRYPTION";
    /// `graphs`
    pub const GRAPHS: &str = "LANGSERVE_GRAPHS";
    /// `http`
    pub const HTTP: &str = "LANGGRAPH_HTTP";
    /// `node_version`, where the Python server runs JavaScript graphs too
    pub const NODE_VERSION: &str = "NODE_VERSION";
    /// `priority`
    pub const PRIORITY: &str = "LANGGRAPH_PRIORITY";
    /// `store`
    pub const STORE: &str = "LANGGRAPH_STORE";
    /// `ui`
    pub const UI: &str = "LANGGRAPH_UI";
    /// `ui_config`
    pub const UI_CONFIG: &str = "LANGGRAPH_UI_CONFIG";
    /// `webhooks`
    pub const WEBHOOKS: &str = "LANGGRAPH_WEBHOOKS";
}

/// What the configuration calls the document database, and what the server calls it.
pub const DOCUMENT_DATABASE: (&str, &str) = ("docdb", "mongo");
/// The prefix of webhook variables where none is given. The server's own default differs, so it is written out.
pub const WEBHOOK_PREFIX: &str = "AGENT_WEBHOOK_";

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
/// What each tool leaves behind in the import path besides itself.
pub const TOOL_LEFTOVERS: &[(&str, &[&str])] = &[
    ("pip", &[]),
    ("setuptools", &["pkg_resources", "_distutils_hack", "distutils-precedence.pth"]),
    ("wheel", &[]),
];

/// The server that runs on this machine, without a container.
pub mod local {
    /// Its Python packages, at the versions that are tested together: distribution and version. The extra `inmem` in
    /// pyproject.toml installs the same.
    pub const SERVER: &[(&str, &str)] = &[("langgraph-api", "0.16.7"), ("langgraph-runtime-inmem", "0.36.7")];
}
