//! Settings: from the environment, else from `.env` beside the configuration.

use std::fmt;
use std::path::Path;

use super::console::warn;
use super::env::Env;
use crate::api::wire::Redacted;
use crate::compiler::manifests::dotenv::{self, Dotenv};
use crate::project;

/// The file beside the configuration.
const FILE: &str = ".env";

/// The variables of `.env`.
pub(super) struct Settings {
    /// Variables of the environment are expanded in their values.
    file: Dotenv,
    /// The same without the environment, which tells the values that depend on it.
    file_alone: Dotenv,
}

/// A value and where it was found.
pub(super) struct Setting {
    /// It may be a secret.
    pub(super) value: Redacted,
    pub(super) origin: Origin,
}

/// Where a setting was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This option of the command line.
    Option(&'static str),
    /// This environment variable.
    Environment(String),
    /// This variable of the project's `.env`.
    File {
        name: String,
        /// Whether its value contains a variable of the environment.
        is_expanded: bool,
    },
    /// The default for configurations of this name.
    Default(&'static str),
}

impl Origin {
    /// Whether the setting was made by the files of a project, which may be somebody else's.
    pub(super) fn is_project(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Whether all of the setting comes from the files of a project.
    pub(super) fn is_only_project(&self) -> bool {
        matches!(self, Self::File { is_expanded: false, .. })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => f.write_str(name),
            Self::Environment(name) => write!(f, "{name} in the environment"),
            Self::File { name, is_expanded: false } => write!(f, "{name} in {FILE}"),
            Self::File { name, is_expanded: true } => {
                write!(f, "{name} in {FILE}, which refers to the environment")
            }
            Self::Default(configuration) => write!(f, "the default for {configuration}"),
        }
    }
}

impl Settings {
    /// The variables of `.env` that have a value.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.file.variables.iter();
        variables.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    /// The value of a variable of `.env` that is not empty.
    pub(super) fn in_file(&self, name: &str) -> Option<String> {
        self.file.variables.get(name)?.clone().filter(|value| !value.is_empty())
    }

    /// Reads `.env` in `directory`, if it exists. Warns about lines that cannot be parsed.
    pub(super) fn read(env: &mut Env, directory: &Path) -> Self {
        let text = project::text(&directory.join(FILE)).unwrap_or_default();
        let file = dotenv::parse(&text, |name| (env.variables)(name));
        for mistake in &file.mistakes {
            warn(env, &format!("ignoring {FILE}:{}: not an assignment", mistake.line));
        }
        Self { file, file_alone: dotenv::parse(&text, |_| None) }
    }

    /// The first of `names` that is set in the environment, else the first that is set in `.env`. An empty value counts
    /// as unset.
    pub(super) fn find(&self, env: &Env, names: &[&str]) -> Option<Setting> {
        let outside = |name: &&str| {
            let origin = Origin::Environment((*name).to_owned());
            Some(Setting { value: Redacted::new(env.variable(name)?), origin })
        };
        let inside = |name: &&str| {
            let value = self.in_file(name)?;
            let alone = self.file_alone.variables.get(*name).and_then(Option::as_ref);
            let origin = Origin::File { name: (*name).to_owned(), is_expanded: alone != Some(&value) };
            Some(Setting { value: Redacted::new(value), origin })
        };
        names.iter().find_map(outside).or_else(|| names.iter().find_map(inside))
    }
}
