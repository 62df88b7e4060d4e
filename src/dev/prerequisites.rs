//! The interpreters and installers that a run would use. Nothing is installed or changed.

use std::path::{Path, PathBuf};

use super::answer::answer;
use super::error::Error;
use super::installer;
use super::interpreter::Required;
use super::node;
use super::node_modules;
use super::search;
use super::session::Selection;
use crate::child::Command;
use crate::compiler::back::plan::{JavascriptPackages, PythonPackages};
use crate::live::{Event, Reporter};

/// Imports the modules that create an environment with pip.
const IMPORT_VENV: &str = "import ensurepip, venv";

/// An interpreter that a run would use.
#[derive(Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// How it was found, in words.
    pub origin: &'static str,
    /// Reasons why it does not fit.
    pub warnings: Vec<String>,
    /// How to get one that fits.
    pub advice: String,
    /// Whether all packages are installed.
    pub is_complete: bool,
}

/// Keeps warnings.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Reporter for Warnings {
    fn event(&mut self, event: &Event) {
        if let Event::Warning { message } = event {
            self.0.push(message.clone());
        }
    }
}

/// The Python of a run.
///
/// # Errors
///
/// None is suitable.
pub async fn python(
    directory: &Path,
    packages: &PythonPackages,
    selection: &Selection,
) -> Result<Found, Error> {
    let mut warnings = Warnings::default();
    let required = Required::new(packages, false);
    let choice = search::choose(directory, packages, selection, &required, &mut warnings).await?;
    let search::Interpreter { path, inspection, origin } = choice.interpreter;
    Ok(Found {
        path,
        version: inspection.shown_version(),
        origin,
        warnings: warnings.0,
        advice: search::advice(packages),
        is_complete: choice.is_complete,
    })
}

/// The path of the uv that installs the Python packages, and its version.
///
/// # Errors
///
/// It does not run; the error is a fragment.
pub async fn uv(
    directory: &Path,
    packages: &PythonPackages,
    selection: &Selection,
) -> Option<Result<(PathBuf, String), String>> {
    let uv = installer::uv(packages, &selection.surroundings, directory)?;
    let asked = answer(&Command::new(&uv, directory).argument("--version"), selection.timeout).await;
    Some(asked.and_then(|(status, mut lines)| match lines.pop() {
        Some(line) if status.is_success() => {
            let version = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
            Ok((uv, version))
        }
        _ => Err(format!("`{}` fails with {status}", uv.display())),
    }))
}

/// Whether `python` can create environments with pip.
pub async fn has_venv(directory: &Path, python: &Path, selection: &Selection) -> bool {
    let command = Command::new(python, directory).arguments(["-I", "-c", IMPORT_VENV]);
    let asked = answer(&command, selection.timeout).await;
    asked.is_ok_and(|(status, _)| status.is_success())
}

/// The Node.js of a run.
///
/// # Errors
///
/// None is suitable.
pub async fn node(
    directory: &Path,
    packages: &JavascriptPackages,
    selection: &Selection,
) -> Result<Found, Error> {
    let candidates = node::candidates(&selection.surroundings);
    let pinned = packages.version.as_deref();
    let node = node::find(directory, &candidates, pinned, selection.timeout).await?;
    Ok(Found {
        path: node.path,
        version: node.version,
        origin: "on the PATH",
        warnings: node.warning.into_iter().collect(),
        advice: node::ADVICE.to_owned(),
        is_complete: false,
    })
}

/// A package manager, and the program that runs it.
pub type PackageManager = (String, Result<PathBuf, Error>);

/// The package managers that install what is missing.
pub fn package_managers(
    directory: &Path,
    packages: &JavascriptPackages,
    node: PathBuf,
    selection: &Selection,
) -> Vec<PackageManager> {
    node_modules::managers(directory, packages, node, &selection.surroundings)
}
