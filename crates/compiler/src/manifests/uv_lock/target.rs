//! Whether a lock is made for the server: its Python version, and Linux.

use std::str::FromStr;

use pep508_rs::pep440_rs::{Version, VersionSpecifiers};

use super::Lock;
use crate::manifests::marker::{Environment, MACHINES};

/// Number of patch releases that a Python version is assumed to have at most.
const PATCHES: u32 = 50;

impl Lock {
    /// Whether some release of Python `python`, given as major.minor, is one of `requires-python`.
    pub fn includes_python(&self, python: &str) -> bool {
        let required = self.requires_python.as_deref().and_then(|it| VersionSpecifiers::from_str(it).ok());
        let Some(required) = required else { return true };
        let version = |patch| Version::from_str(&format!("{python}.{patch}"));
        (0..PATCHES).any(|patch| version(patch).is_ok_and(|version| required.contains(&version)))
    }

    /// Whether its environments include Linux on some machine.
    pub fn includes_linux(&self, python: &str) -> bool {
        let markers = &self.supported_markers;
        let environments = MACHINES.iter().filter_map(|machine| Environment::linux(python, machine));
        let is_included = |environment: Environment| {
            markers.iter().any(|marker| environment.holds(marker, &[]) != Some(false))
        };
        markers.is_empty() || environments.into_iter().any(is_included)
    }
}
