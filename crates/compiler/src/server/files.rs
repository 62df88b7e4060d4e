//! The files of a server that agentcli installs in an image: they lie in a directory beside the Dockerfile, which copies them
//! to [`DIRECTORY`]. The programs are in `python/server` and `javascript/server`.

use indexmap::IndexMap;
use serde::Serialize;

use super::local::JavascriptServer;
use super::product::{Installation, Product, VARIABLES};

/// Where an image has them.
pub const DIRECTORY: &str = "/api";

/// What follows the name of a Dockerfile in the name of the directory beside it.
pub const SUFFIX: &str = ".server";

/// The file that tells what the directory is.
pub const README: &str = "README.md";

/// The list of packages, with hashes.
pub const REQUIREMENTS: &str = "requirements.txt";

/// The packages of the server for JavaScript, with hashes.
pub const PACKAGE_LOCK: &str = "package-lock.json";

/// The command that runs the server for Python, and that for JavaScript.
pub const START: [&[&str]; 2] = [&["python3", "/api/serve.py"], &["node", "/api/serve.mjs"]];

/// The health check of the server for JavaScript.
pub const JAVASCRIPT_HEALTHCHECK: &[&str] = &["node", "/api/healthcheck.mjs"];

/// Files of every server for Python.
const FILES: &[(&str, &str)] = &[
    (README, include_str!("../../../../python/server/README.md")),
    ("agentcli_prompt.py", include_str!("../../../../python/server/agentcli_prompt.py")),
    ("healthcheck.py", include_str!("../../../../python/server/healthcheck.py")),
    ("logging.json", include_str!("../../../../python/server/logging.json")),
    ("serve.py", include_str!("../../../../python/server/serve.py")),
];

/// Files of the server for JavaScript.
const JAVASCRIPT_FILES: &[(&str, &str)] = &[
    (README, include_str!("../../../../javascript/server/README.md")),
    ("agentcli_prompt.mjs", include_str!("../../../../javascript/server/agentcli_prompt.mjs")),
    ("healthcheck.mjs", include_str!("../../../../javascript/server/healthcheck.mjs")),
    ("serve.mjs", include_str!("../../../../javascript/server/serve.mjs")),
];

/// A file of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFile {
    /// Relative to the directory of the files.
    pub path: String,
    /// The whole of it.
    pub text: String,
}

/// What `serve.py` reads.
#[derive(Serialize)]
struct Settings {
    application: &'static str,
    /// Variables that overrule those of the container.
    environment: IndexMap<&'static str, &'static str>,
}

/// The files of `product`, by path; `release` is that of JavaScript projects. None if its base image brings the server.
pub fn files(product: &Product, release: Option<&JavascriptServer>) -> Vec<ServerFile> {
    let mut files = match (&product.installation, release) {
        (_, Some(release)) => of_javascript(release),
        (Some(installation), None) => of_python(installation),
        (None, None) => Vec::new(),
    };
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

fn of_python(installation: &Installation) -> Vec<ServerFile> {
    let made = [
        file("constraints.txt", &constraints(installation)),
        file(REQUIREMENTS, installation.requirements),
        file("server.json", &settings(installation)),
    ];
    let given = FILES.iter().chain(installation.files).map(|(path, text)| file(path, text));
    given.chain(made).collect()
}

fn of_javascript(release: &JavascriptServer) -> Vec<ServerFile> {
    let manifests = ["package.json", PACKAGE_LOCK].into_iter().zip(release.manifests.into_iter().flatten());
    JAVASCRIPT_FILES.iter().copied().chain(manifests).map(|(path, text)| file(path, text)).collect()
}

fn file(path: &str, text: &str) -> ServerFile {
    ServerFile { path: path.to_owned(), text: text.to_owned() }
}

/// The versions of the server and the bounds of what it requires.
fn constraints(installation: &Installation) -> String {
    let own = installation.own.iter().map(|own| format!("{own}\n"));
    let bounds = super::REQUIREMENTS.iter().map(|(name, bounds)| format!("{name}{bounds}\n"));
    own.chain(bounds).collect()
}

fn settings(installation: &Installation) -> String {
    let environment = VARIABLES.iter().chain(installation.variables).copied().collect();
    let settings = Settings { application: installation.application, environment };
    format!("{:#}\n", serde_json::json!(settings))
}
