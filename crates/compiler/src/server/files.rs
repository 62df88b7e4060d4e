//! The files of a server that agentcli installs in an image: they lie in a directory beside the Dockerfile, which copies them
//! to [`DIRECTORY`]. The programs are in `python/server`.

use indexmap::IndexMap;
use serde::Serialize;

use super::product::{Installation, Product, VARIABLES};

/// Where an image has them.
pub const DIRECTORY: &str = "/api";

/// What follows the name of a Dockerfile in the name of the directory beside it.
pub const SUFFIX: &str = ".server";

/// The file that tells what the directory is.
pub const README: &str = "README.md";

/// The list of packages, with hashes.
pub const REQUIREMENTS: &str = "requirements.txt";

/// The program that runs the server.
pub const SERVE: &str = "serve.py";

/// Files of every server.
const FILES: &[(&str, &str)] = &[
    (README, include_str!("../../../../python/server/README.md")),
    ("agentcli_prompt.py", include_str!("../../../../python/server/agentcli_prompt.py")),
    ("healthcheck.py", include_str!("../../../../python/server/healthcheck.py")),
    ("logging.json", include_str!("../../../../python/server/logging.json")),
    (SERVE, include_str!("../../../../python/server/serve.py")),
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

/// The files of `product`, by path; none if its base image brings the server.
pub fn files(product: &Product) -> Vec<ServerFile> {
    let Some(installation) = &product.installation else { return Vec::new() };
    let given = FILES.iter().chain(installation.files).map(|&(path, text)| (path, text.to_owned()));
    let made = [
        ("constraints.txt", constraints(installation)),
        (REQUIREMENTS, installation.requirements.to_owned()),
        ("server.json", settings(installation)),
    ];
    let file = |(path, text): (&str, String)| ServerFile { path: path.to_owned(), text };
    let mut files: Vec<ServerFile> = given.chain(made).map(file).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
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
