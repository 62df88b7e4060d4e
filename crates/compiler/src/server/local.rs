//! The server without a container: the in-memory runtime for development.

/// Packages of the Python server, with the versions that agentcli is tested with. The extra `inmem` in pyproject.toml
/// installs the same.
pub const SERVER: &[(&str, &str)] = &[("langgraph-api", "0.16.7"), ("langgraph-runtime-inmem", "0.36.7")];

/// The oldest of the first of them that runs with what its own requirements let in: those of older ones let in runtimes
/// that they do not start with.
pub const OLDEST_SERVER: &str = "0.4.48";

/// The graph library that the JavaScript server imports from the project.
pub const LIBRARY: &str = "@langchain/langgraph";

/// A release of the JavaScript server.
#[derive(Debug, PartialEq, Eq)]
pub struct JavascriptServer {
    /// The oldest version of [`LIBRARY`] that it works with.
    pub oldest: (u64, u64, u64),
    /// The server and its peers, with compatible versions.
    pub packages: &'static [(&'static str, &'static str)],
    /// The package.json and the package-lock.json of its image, in `javascript/releases`; `npm install --package-lock-only
    /// --legacy-peer-deps` makes the second there. Absent for a release that no image has.
    pub manifests: Option<[&'static str; 2]>,
}

impl JavascriptServer {
    /// Version of the server.
    pub fn version(&self) -> &'static str {
        self.packages[0].1
    }
}

/// The oldest version of [`LIBRARY`] with which the server's last step of a build does not fail: the peer of
/// @langchain/langgraph-api 1.4.3, which the yarn.lock of langgraph-api 0.16.7 has (`^1.3.6`, 2026-11). The image of the
/// JavaScript server ends a build with the same step.
pub const OLDEST_LIBRARY_OF_BUILD: (u64, u64, u64) = (1, 3, 6);

/// The oldest version of [`LIBRARY`] that the JavaScript server itself works with in an image. Which release an image has is
/// not known, so that this is the bound of the older ones.
pub const OLDEST_LIBRARY_IN_IMAGE: (u64, u64, u64) = (0, 2, 57);

/// Releases of the JavaScript server, the newest first. 2.0.0 was published before 1.5.1, and its authors have deprecated it.
pub const JAVASCRIPT_SERVERS: &[JavascriptServer] = &[
    JavascriptServer {
        oldest: (1, 4, 18),
        packages: &[
            ("@langchain/langgraph-api", "1.5.1"),
            (LIBRARY, "1.4.18"),
            ("@langchain/langgraph-checkpoint", "1.1.5"),
            ("@langchain/langgraph-sdk", "1.12.0"),
            ("@langchain/core", "1.1.48"),
            ("typescript", "5.9.3"),
            TSX,
        ],
        manifests: Some([
            include_str!("../../../../javascript/releases/1.5.1/package.json"),
            include_str!("../../../../javascript/releases/1.5.1/package-lock.json"),
        ]),
    },
    JavascriptServer {
        oldest: (0, 2, 57),
        packages: &[
            ("@langchain/langgraph-api", "2.0.0"),
            (LIBRARY, "1.1.0"),
            ("@langchain/langgraph-checkpoint", "1.0.0"),
            ("@langchain/langgraph-sdk", "2.0.0"),
            ("@langchain/core", "1.1.48"),
            ("typescript", "5.9.3"),
            TSX,
        ],
        manifests: Some([
            include_str!("../../../../javascript/releases/2.0.0/package.json"),
            include_str!("../../../../javascript/releases/2.0.0/package-lock.json"),
        ]),
    },
    JavascriptServer {
        oldest: (0, 2, 36),
        packages: &[
            ("@langchain/langgraph-api", "0.0.40"),
            (LIBRARY, "0.2.57"),
            ("@langchain/langgraph-checkpoint", "0.0.16"),
            ("@langchain/langgraph-sdk", "0.0.70"),
            ("@langchain/core", "0.3.59"),
            ("typescript", "5.9.3"),
            TSX,
        ],
        manifests: None,
    },
];

/// The newest release that works with `version` of [`LIBRARY`], or else the oldest release. For an unknown version, the
/// newest one that works with most.
pub fn javascript_server(version: Option<(u64, u64, u64)>) -> &'static JavascriptServer {
    let version = version.unwrap_or(OLDEST_LIBRARY_IN_IMAGE);
    let works = |server: &&JavascriptServer| server.oldest <= version;
    JAVASCRIPT_SERVERS.iter().find(works).unwrap_or(&JAVASCRIPT_SERVERS[JAVASCRIPT_SERVERS.len() - 1])
}

/// The same for an image, which has no release for older versions than [`OLDEST_LIBRARY_IN_IMAGE`].
pub fn javascript_server_in_image(version: Option<(u64, u64, u64)>) -> &'static JavascriptServer {
    javascript_server(version.map(|version| version.max(OLDEST_LIBRARY_IN_IMAGE)))
}

/// The TypeScript loader for Node.js.
pub const TSX: (&str, &str) = ("tsx", "4.23.15");
/// Files below the installation directory: the TypeScript loader, the resolver of the project's own packages, and the
/// server.
pub const JAVASCRIPT_FILES: [&str; 3] = [
    "node_modules/tsx/dist/loader.mjs",
    "node_modules/@langchain/langgraph-api/dist/preload.mjs",
    "node_modules/@langchain/langgraph-api/dist/server.mjs",
];
/// Sections of the configuration that the JavaScript server takes as arguments, under the same names.
pub const JAVASCRIPT_SETTINGS: &[&str] = &["graphs", "auth", "http", "ui", "ui_config"];
/// Routes that the JavaScript server has for its own tests, and that need no authentication.
pub const JAVASCRIPT_TEST_ROUTES: &[&str] = &["/internal/truncate"];
/// Header by which the studio is let past the project's own authentication.
pub const STUDIO_HEADER: &str = "x-auth-scheme";
/// Further variables for the JavaScript server.
pub const JAVASCRIPT_VARIABLES: &[(&str, &str)] = &[("NODE_ENV", "development")];

/// Directory of the JavaScript part of the Python server, below site-packages. Its package.json and yarn.lock list its
/// packages.
pub const BRIDGE: &str = "langgraph_api/js";
/// Variables that enable JavaScript graphs in the Python server, whose development variant rejects them.
pub const BRIDGE_VARIABLES: &[(&str, &str)] = &[("LANGSMITH_LANGGRAPH_API_VARIANT", "local")];
/// Variables with the ports between the Python and the JavaScript part.
pub const BRIDGE_PORTS: &[&str] =
    &["LANGGRAPH_JS_REMOTE_PORT", "LANGGRAPH_JS_GRAPH_PORT", "LANGGRAPH_JS_GRAPH_HTTP_PORT"];

/// Default port.
pub const PORT: u16 = 2024;

/// Oldest supported Python version: major and minor.
pub const OLDEST_PYTHON: (u64, u64) = (3, 11);

/// The ASGI application.
pub const APPLICATION: &str = "langgraph_api.server:app";
/// Log formatter of the server.
pub const LOG_FORMATTER: &str = "langgraph_api.logging.Formatter";
/// Loggers that the log level applies to.
pub const LOGGERS: &[&str] = &["uvicorn", "uvicorn.error", "langgraph_api.server"];

/// Directory of the server's state, relative to its working directory.
pub const STATE: &str = ".langgraph_api";

/// Variables of every development server: no databases, state in files, no telemetry.
pub const VARIABLES: &[(&str, &str)] = &[
    // A path with `inmem` enables routes for tests of the server, which need no authentication.
    ("MIGRATIONS_PATH", "off"),
    ("DATABASE_URI", ":memory:"),
    ("REDIS_URI", "fake"),
    ("LANGGRAPH_RUNTIME_EDITION", "inmem"),
    ("LANGGRAPH_DISABLE_FILE_PERSISTENCE", "false"),
    ("LANGSMITH_LANGGRAPH_API_VARIANT", "local_dev"),
    ("LANGGRAPH_UI_BUNDLER", "true"),
    // Lets pages of other origins talk to a server on this machine.
    ("ALLOW_PRIVATE_NETWORK", "true"),
    // With keys of a hosted service, the server would report runs; tracing has its own key.
    ("LANGSMITH_CONTROL_PLANE_API_KEY", ""),
    ("LANGGRAPH_CLOUD_LICENSE_KEY", ""),
    ("LANGGRAPH_NO_VERSION_CHECK", "true"),
    ("LANGGRAPH_CLI_NO_ANALYTICS", "1"),
];
/// Those of them with the addresses of PostgreSQL and Redis.
pub const DATABASES: [&str; 2] = ["DATABASE_URI", "REDIS_URI"];
/// Variable with the number of concurrent runs.
pub const JOBS: &str = "N_JOBS_PER_WORKER";
/// Variable that allows blocking calls in asynchronous code.
pub const ALLOW_BLOCKING: &str = "LANGGRAPH_ALLOW_BLOCKING";
/// Variable with the URL of the server.
pub const URL: &str = "LANGGRAPH_API_URL";

/// Variables with the prefix of all routes, in order of precedence.
pub const MOUNT_PREFIX: &[&str] = &["LANGGRAPH_MOUNT_PREFIX", "MOUNT_PREFIX"];
/// Variable with the log level.
pub const LOG_LEVEL: &str = "LOG_LEVEL";
/// Variable that colours the log.
pub const LOG_COLOUR: &str = "LOG_COLOR";

/// Health check route.
pub const OK_ROUTE: &str = "/ok";
/// Route of the API documentation.
pub const DOCS_ROUTE: &str = "/docs";
/// The hosted studio: its address, and the path that the URL of the server is appended to.
pub const STUDIO: (&str, &str) = ("https://smith.langchain.com", "/studio/?baseUrl=");

/// Variables with which the server sends its traces to an OpenTelemetry collector alone, but for the collector's address.
pub const TRACES: [(&str, &str); 3] =
    [("LANGSMITH_TRACING", "true"), ("LANGSMITH_OTEL_ENABLED", "true"), ("LANGSMITH_OTEL_ONLY", "true")];

/// Variable with the address of the collector.
pub const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_release_of_an_image_has_its_packages_with_hashes() {
        for server in JAVASCRIPT_SERVERS {
            let Some(manifests) = server.manifests else { continue };
            let [package, lock]: [Value; 2] = manifests.map(|text| serde_json::from_str(text).unwrap());
            for (name, version) in server.packages {
                assert_eq!(package["dependencies"][name], *version);
                assert_eq!(lock["packages"][format!("node_modules/{name}")]["version"], *version);
            }
            assert_eq!(lock["packages"][""]["dependencies"], package["dependencies"]);
            // Those of a bundle are in the archive of the package around them.
            let has_hash = |entry: &Value| entry["integrity"].is_string() || entry["inBundle"] == true;
            let mut installed =
                lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty());
            assert!(installed.all(|(_, entry)| has_hash(entry)), "{}", server.version());
        }
        assert!(javascript_server_in_image(Some((0, 2, 40))).manifests.is_some());
        assert!(javascript_server_in_image(None).manifests.is_some());
    }
}
