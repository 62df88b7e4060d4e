//! Settings of the user's: the environment first, then `.env` beside the configuration, which is read and never
//! written.

use std::path::Path;

use super::console::{WARNING, paint};
use super::env::Env;
use crate::api::wire::Redacted;
use crate::compiler::dotenv::{self, Dotenv};
use crate::compiler::server::hosted;
use crate::project;

/// The file beside the configuration.
const FILE: &str = ".env";

/// The deployment's name, for this tool and for the hosted service's own.
const NAMES: &[&str] = &["PLATFORM_DEPLOYMENT_NAME"];

/// The longest name of a deployment, in characters.
const MAX_NAME: usize = 63;

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
            let warning = paint(&env.err, WARNING, "warning");
            env.tell(&format!("{warning}: {FILE}:{} is no assignment and is left out", mistake.line));
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

    /// The deployment that is meant: what is `given`, else what the environment or `.env` says, else the name of
    /// `directory` as a name that a deployment can have.
    pub(super) fn deployment_name(&self, env: &Env, given: Option<&str>, directory: &Path) -> String {
        let said = || self.find(env, NAMES).or_else(|| self.find(env, &[hosted::NAME]));
        let of_directory = || {
            let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
            slug(&real.file_name().unwrap_or_default().to_string_lossy())
        };
        given
            .map(str::to_owned)
            .or_else(|| said().map(|it| it.value.expose().to_owned()))
            .unwrap_or_else(of_directory)
    }
}

/// Lowercase letters, digits and single dashes.
fn slug(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    let slug = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    match slug[..slug.len().min(MAX_NAME)].trim_end_matches('-') {
        "" => "app".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_a_name() {
        for (directory, name) in [
            ("my-agent", "my-agent"),
            ("My Agent__2", "my-agent-2"),
            ("-ä-", "app"),
            ("", "app"),
            (&"x".repeat(80), &"x".repeat(63)),
        ] {
            assert_eq!(slug(directory), name);
        }
    }
}
