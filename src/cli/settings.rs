//! Settings: from the environment, else from `.env` beside the configuration.

use std::fmt;
use std::path::Path;

use super::compile::directory_of;
use super::console::warn;
use super::env::Env;
use crate::api::wire::Redacted;
use crate::compiler::files::Files;
use crate::compiler::manifests::dotenv::{self, Dotenv};
use crate::compiler::server::hosted;
use crate::error::Error;
use crate::project::{self, DiskFiles, Project};
use crate::ship::slug;

/// The file beside the configuration.
const FILE: &str = ".env";

/// Variable of the name of a deployment.
const DEPLOYMENT_NAME: &str = "PLATFORM_DEPLOYMENT_NAME";

/// The variables of `.env` beside a configuration.
pub(super) struct Settings {
    /// The name of the configuration.
    pub(super) configuration: String,
    /// Variables of the environment are expanded in their values.
    file: Dotenv,
    /// The same without the environment, which tells the values that depend on it.
    file_alone: Dotenv,
    /// The address of the service and where it is set, if that is the project. Then nothing else is expanded in the file.
    pub(super) own_service: Option<String>,
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
    /// The service of this name that the user has logged in to.
    Login(String),
    /// The default for configurations of this name.
    Default(&'static str),
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
            Self::Login(name) => write!(f, "login `{name}`"),
            Self::Default(configuration) => write!(f, "the default for {configuration}"),
        }
    }
}

/// The variables of a file of the user, with those of the environment unless it `is_sealed`. Warns about lines that are left
/// out.
pub(super) fn parsed(env: &mut Env, text: &str, name: &str, is_sealed: bool) -> Dotenv {
    let file = dotenv::parse(text, |name| env.named(name).filter(|_| !is_sealed));
    for mistake in &file.mistakes {
        warn(env, &format!("ignoring {name}:{}: {}", mistake.line, mistake.why));
    }
    file
}

impl Settings {
    /// The variables of `.env` that have a value.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.file.variables.iter();
        variables.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    /// Leaves the environment out of the values of the file, since they are for a `service` that the file itself names.
    pub(super) fn seal(&mut self, service: String) {
        self.own_service = Some(service);
        self.file = std::mem::take(&mut self.file_alone);
        self.file_alone = Dotenv { variables: self.file.variables.clone(), ..Dotenv::default() };
    }

    /// The value of a variable of `.env` that is not empty.
    pub(super) fn in_file(&self, name: &str) -> Option<String> {
        self.file.variables.get(name)?.clone().filter(|value| !value.is_empty())
    }

    /// Those beside the configuration of `project`.
    pub(super) fn of(env: &mut Env, project: &Project) -> Self {
        Self::read(env, &project.files, file_name(&project.path))
    }

    /// Those beside `config`, or in the current directory if no configuration is named.
    pub(super) fn beside(env: &mut Env, config: Option<&Path>) -> Self {
        let Some(config) = config else { return Self::in_directory(env, &env.directory.clone()) };
        let directory = directory_of(&env.directory.join(config));
        Self::read(env, &DiskFiles::new(&directory), file_name(config))
    }

    /// Those of `directory`.
    pub(super) fn in_directory(env: &mut Env, directory: &Path) -> Self {
        let configuration = project::default_config(directory).name.to_owned();
        Self::read(env, &DiskFiles::new(directory), configuration)
    }

    /// Reads the file, if it exists. Warns about lines that cannot be parsed.
    fn read(env: &mut Env, files: &impl Files, configuration: String) -> Self {
        let text = files.text(FILE).unwrap_or_default();
        if files.refusal(FILE).is_some() {
            warn(env, &format!("ignoring `{FILE}`: it is no file of the project, or is too large"));
        }
        let file = parsed(env, &text, FILE, false);
        Self { configuration, file, file_alone: dotenv::parse(&text, |_| None), own_service: None }
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

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a deployment: from the option, else from the environment, else from `.env`, else from the name of the current
/// directory. Names of existing deployments can have any form.
pub(super) fn deployment_name(env: &Env, given: Option<&str>, settings: &Settings) -> Result<String, Error> {
    let given = given.map(str::to_owned).or_else(|| {
        let found = settings.find(env, &[DEPLOYMENT_NAME]).or_else(|| settings.find(env, &[hosted::NAME]));
        found.map(|setting| setting.value.expose().to_owned())
    });
    if let Some(name) = given {
        return Ok(name);
    }
    let directory = env.directory.canonicalize().unwrap_or_else(|_| env.directory.clone());
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(slug(&name))
}
