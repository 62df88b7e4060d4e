//! The setup that a command line asks for, and the values that its variables get.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;

use super::compile::Planned;
use super::console::{NOTE, paint, visible_line};
use super::env::Env;
use super::variables;
use crate::compiler::config::EnvConfig;
use crate::compiler::dotenv;
use crate::compiler::files::Files;
use crate::compiler::lower::setup::{self, SetupOptions};
use crate::compiler::plan::{Service, Setup, Variable};
use crate::compiler::server::setup as server;
use crate::error::Error;

/// Where keys are looked for beside the environment, relative to the configuration's directory.
const DOTENV: &str = ".env";

/// What names a project for compose, and so for this program.
const PROJECT_NAME: &str = "COMPOSE_PROJECT_NAME";

/// How addresses of PostgreSQL begin.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The options of every command that plans the whole setup.
#[derive(Debug, clap::Args)]
pub struct SetupArguments {
    /// Port of this machine to reach the server at
    #[arg(short, long, value_name = "PORT", default_value_t = server::PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,

    /// Use this PostgreSQL database (with pgvector) instead of one in a container
    #[arg(long, value_name = "URI")]
    postgres_uri: Option<Secret>,

    /// Port of this machine to reach the debugger at; there is none without it
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub debugger_port: Option<u16>,

    /// Where the debugger's page, in a browser, finds the server [default: http://127.0.0.1:PORT]
    #[arg(long, value_name = "URL", requires = "debugger_port")]
    debugger_base_url: Option<String>,

    /// Run this image instead of building one
    #[arg(long, value_name = "IMAGE", conflicts_with = "base_image")]
    pub image: Option<String>,

    /// Name of the compose project [default: COMPOSE_PROJECT_NAME, or after the directory]
    #[arg(short = 'P', long, value_name = "NAME")]
    pub project_name: Option<String>,
}

/// Text that nothing prints.
#[derive(Clone)]
struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A setup, and where its variables get their values from. There is no `Debug`: the values are secrets.
pub struct Prepared {
    /// The setup.
    pub setup: Setup,
    /// What the file of `env` says; a variable without a value is none.
    file: Vec<(String, Option<String>)>,
    /// Values that stand in no file.
    secrets: BTreeMap<String, String>,
}

impl SetupArguments {
    /// The setup of a planned project; notes on it are told on stderr.
    ///
    /// # Errors
    ///
    /// The name is none for a project, the database's address is none, or two ports are the same.
    pub fn prepare(&self, env: &mut Env, planned: &Planned) -> Result<Prepared, Error> {
        self.check()?;
        let file = match &planned.config.env {
            Some(EnvConfig::File(_)) => variables::values(env, &planned.project, &planned.config),
            Some(EnvConfig::Map(_)) | None => Vec::new(),
        };
        let options = SetupOptions {
            name: self.name(env, planned)?,
            port: self.port,
            debugger_port: self.debugger_port,
            debugger_base_url: self.debugger_base_url.clone(),
            has_database: self.postgres_uri.is_some(),
            image: self.image.clone(),
            env: match &planned.config.env {
                Some(EnvConfig::Map(values)) => values.clone(),
                Some(EnvConfig::File(_)) | None => IndexMap::new(),
            },
            env_file_names: file.iter().map(|(name, _)| name.clone()).collect(),
        };
        let setup = setup::setup(&planned.plan, &options);
        for note in &setup.notes {
            env.tell(&format!("{}: {}", paint(&env.err, NOTE, "note"), visible_line(&note.message)));
        }
        let secrets = self.secrets(env, planned, &setup, &file);
        Ok(Prepared { setup, file, secrets })
    }

    /// Whether the user names a database.
    pub fn has_database(&self) -> bool {
        self.postgres_uri.is_some()
    }

    fn check(&self) -> Result<(), Error> {
        let usage = |message: &str, hint: &str| {
            Err(Error::Usage { message: message.to_owned(), hint: Some(hint.to_owned()) })
        };
        if self.debugger_port == Some(self.port) {
            return usage("the server and the debugger cannot have one port", "give another --debugger-port");
        }
        let is_address = |uri: &Secret| SCHEMES.iter().any(|scheme| uri.0.starts_with(scheme));
        if self.postgres_uri.as_ref().is_some_and(|uri| !is_address(uri)) {
            // The text may hold a password, so that it is not said.
            return usage(
                "--postgres-uri is not the address of a PostgreSQL database",
                "write it as postgres://user:password@host:5432/database",
            );
        }
        Ok(())
    }

    fn name(&self, env: &Env, planned: &Planned) -> Result<String, Error> {
        let Some(name) = self.project_name.clone().or_else(|| env.variable(PROJECT_NAME)) else {
            return Ok(setup::project_name(&planned.project.files.directory()));
        };
        if setup::is_project_name(&name) {
            return Ok(name);
        }
        Err(Error::Usage {
            message: format!("`{}` is not the name of a project", visible_line(&name)),
            hint: Some(
                "use lowercase letters, digits, `-` and `_`, and begin with a letter or digit".to_owned(),
            ),
        })
    }

    /// The values of everything that the setup takes from where it is started.
    fn secrets(
        &self,
        env: &Env,
        planned: &Planned,
        setup: &Setup,
        file: &[(String, Option<String>)],
    ) -> BTreeMap<String, String> {
        let beside = planned.project.files.read(DOTENV).unwrap_or_default();
        let beside = dotenv::parse(&beside, |name| (env.variables)(name)).variables;
        let written = planned.config.env.as_ref().and_then(|env| match env {
            EnvConfig::Map(values) => Some(values),
            EnvConfig::File(_) => None,
        });
        let of_file = |name: &str| file.iter().find(|(other, _)| other == name)?.1.clone();
        let value = |name: &str| {
            let given = self.postgres_uri.as_ref().filter(|_| name == server::OWN_DATABASE);
            given
                .map(|uri| uri.0.clone())
                .or_else(|| env.variable(name))
                .or_else(|| of_file(name))
                .or_else(|| written?.get(name).cloned())
                .or_else(|| beside.get(name).cloned().flatten())
                .filter(|value| !value.is_empty())
        };
        let names = taken(setup).into_iter();
        names.filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
    }
}

/// The names of what a setup takes from where it is started.
fn taken(setup: &Setup) -> Vec<&str> {
    let variables = setup.services.iter().flat_map(|service| service.environment.values());
    let names = variables.flat_map(|variable| match variable {
        Variable::From { names, .. } => names.as_slice(),
        Variable::Text { .. } => &[],
    });
    names.map(String::as_str).collect()
}

impl Prepared {
    /// The environment of one of the services: what the file of `env` says, and over it what the setup does.
    pub fn environment(&self, service: &Service) -> IndexMap<String, String> {
        let mut environment = IndexMap::new();
        if service.env_file.is_some() {
            let set = self.file.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
            environment.extend(set);
        }
        for (name, variable) in &service.environment {
            match self.value(variable) {
                Some(value) => environment.insert(name.clone(), value.to_owned()),
                None => environment.shift_remove(name),
            };
        }
        environment
    }

    /// The value of a variable of the setup; nothing where it is not set here.
    fn value<'a>(&'a self, variable: &'a Variable) -> Option<&'a str> {
        match variable {
            Variable::Text { text } => Some(text),
            Variable::From { names, .. } => {
                names.iter().find_map(|name| self.secrets.get(name)).map(String::as_str)
            }
        }
    }

    /// Says once that there is no key, where the server's image may ask for one.
    pub fn tell_of_keys(&self, env: &mut Env) {
        let services = self.setup.services.iter();
        let mut environments = services
            .filter(|service| service.name == server::SERVER)
            .map(|service| self.environment(service));
        let is_key =
            |name: &String| server::KEYS.iter().any(|key| key.variable == name || key.legacy == Some(name));
        if environments
            .any(|environment| environment.iter().any(|(name, value)| is_key(name) && !value.is_empty()))
        {
            return;
        }
        let names: Vec<String> = server::KEYS.iter().map(|key| key.found_by.join(", ")).collect();
        env.tell(&format!(
            "{}: no key is set. An image that checks who runs it asks for a platform API key ({}) or a licence key \
             ({}), in the environment or in {DOTENV}; others start without",
            paint(&env.err, NOTE, "note"),
            names[0],
            names[1..].join(", ")
        ));
    }
}

/// Whether values of `env` stand in the configuration itself, so that they stand in whatever is made of it.
pub(super) fn has_values(planned: &Planned) -> bool {
    matches!(&planned.config.env, Some(EnvConfig::Map(values)) if !values.is_empty())
}
