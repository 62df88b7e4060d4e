//! Settings of the user's: the environment first, then `.env` beside the configuration, which is read and never
//! written.

use std::path::Path;

use super::console::warn;
use super::env::Env;
use crate::api::wire::Redacted;
use crate::compiler::manifests::dotenv::{self, Dotenv};
use crate::project;

/// The file beside the configuration.
const FILE: &str = ".env";

/// What `.env` says.
pub(super) struct Settings {
    file: Dotenv,
}

/// A value, and where it comes from.
pub(super) struct Setting {
    /// It may be a secret.
    pub(super) value: Redacted,
    /// `AGENT_HOST_URL` and the like, and of what.
    pub(super) origin: String,
}

impl Settings {
    /// Reads `.env` in `directory`, where there is one. Lines that cannot be read are told on stderr.
    pub(super) fn read(env: &mut Env, directory: &Path) -> Self {
        let text = project::text(&directory.join(FILE)).unwrap_or_default();
        let file = dotenv::parse(&text, |name| (env.variables)(name));
        for mistake in &file.mistakes {
            warn(env, &format!("{FILE}:{} is no assignment and is left out", mistake.line));
        }
        Self { file }
    }

    /// The first of `names` that the environment has, else the first that `.env` has; an empty value is none.
    pub(super) fn find(&self, env: &Env, names: &[&str]) -> Option<Setting> {
        let outside = |name: &&str| {
            let origin = format!("{name} of the environment");
            Some(Setting { value: Redacted::new(env.variable(name)?), origin })
        };
        let inside = |name: &&str| {
            let value = self.file.variables.get(*name)?.as_ref().filter(|value| !value.is_empty())?;
            Some(Setting { value: Redacted::new(value.clone()), origin: format!("{name} of {FILE}") })
        };
        names.iter().find_map(outside).or_else(|| names.iter().find_map(inside))
    }
}
