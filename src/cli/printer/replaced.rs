//! The packages of a lock file that the server replaces: only the build tells which ones.

use std::collections::BTreeMap;

use crate::compiler::server;
use crate::engine::BuildEvent;

/// The versions that the step of the lock file's packages names, in their order.
#[derive(Default)]
pub(super) struct Replaced {
    /// The step.
    id: Option<usize>,
    /// The first and the last version of each package.
    versions: BTreeMap<String, (String, String)>,
}

impl Replaced {
    /// Reads an event of a build. At the end of the step, returns a warning about the packages that are not installed in
    /// the version of the lock file.
    pub(super) fn read(&mut self, event: &BuildEvent) -> Option<BuildEvent> {
        match event {
            BuildEvent::StepStarted(step) if installs_lock(&step.name) => {
                *self = Self { id: Some(step.id), ..Self::default() };
            }
            BuildEvent::StepLog { id, line } if self.id == Some(*id) => self.line(line),
            BuildEvent::StepDone { id, .. } if self.id == Some(*id) => return self.warning(),
            _ => {}
        }
        None
    }

    fn line(&mut self, line: &str) {
        // The server's own are restored afterwards, and are not of the lock file.
        for (name, version) in
            versions(line.trim()).into_iter().filter(|(name, _)| !server::DISTRIBUTIONS.contains(name))
        {
            let versions = self.versions.entry(name.to_owned());
            versions
                .and_modify(|(_, last)| version.clone_into(last))
                .or_insert_with(|| (version.to_owned(), version.to_owned()));
        }
    }

    fn warning(&self) -> Option<BuildEvent> {
        let replaced = self.versions.iter().filter(|(_, (locked, last))| locked != last);
        let replaced: Vec<String> =
            replaced.map(|(name, (locked, last))| format!("{name} {last} (locked: {locked})")).collect();
        (!replaced.is_empty()).then(|| BuildEvent::Warning {
            message: format!(
                "the server needs other versions than the lock file has, and the image has these: {}",
                replaced.join(", ")
            ),
        })
    }
}

/// Whether a step installs the versions of a lock, and then those that the server needs.
fn installs_lock(step: &str) -> bool {
    step.contains(" --no-deps ") && step.contains(" -r ")
}

/// The packages of the lock file, of the resolution, or of an installation, as the step prints them: `NAME==VERSION`, uv
/// ` + NAME==VERSION`, and pip `Successfully installed NAME-VERSION …`.
fn versions(line: &str) -> Vec<(&str, &str)> {
    if let Some(packages) = line.strip_prefix("Successfully installed ") {
        return packages.split_whitespace().filter_map(|package| package.rsplit_once('-')).collect();
    }
    let package = line.strip_prefix("+ ").unwrap_or(line);
    package.split_once("==").filter(|_| !package.contains(' ')).into_iter().collect()
}
