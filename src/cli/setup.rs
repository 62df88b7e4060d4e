//! The setup that a configuration and the command line ask for together.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use tokio::runtime::Runtime;

use super::compile::{PlanOptions, Planned, directory_of};
use super::console::{self, visible_line};
use super::env::Env;
use super::image::{self, BuildOptions};
use super::variables;
use crate::compiler::back::lower::setup::{SetupOptions, is_project_name, project_name, setup};
use crate::compiler::back::plan::{Service, ServiceImage, Setup, Variable};
use crate::compiler::files::Files as _;
use crate::compiler::front::config::EnvConfig;
use crate::compiler::front::keys;
use crate::compiler::manifests::dotenv;
use crate::compiler::manifests::image_name::ImageName;
use crate::compiler::server::{local, setup as contract};
use crate::engine::Engine;
use crate::error::Error;
use crate::live::{self, Urls};
use crate::up::{Image, Session};

/// The file that keys are looked for in, beside the configuration.
pub(super) const DOTENV: &str = ".env";

/// What names a project for compose.
const PROJECT_NAME: &str = "COMPOSE_PROJECT_NAME";

/// How addresses of PostgreSQL begin.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The options of every command that runs or describes the setup.
#[derive(Debug, clap::Args)]
pub(super) struct SetupArguments {
    #[command(flatten)]
    pub(super) plan: PlanOptions,

    /// IP address to publish the server's port on [default: 127.0.0.1; on a remote engine all addresses]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,

    /// Port to publish the server on
    #[arg(short, long, value_name = "PORT", default_value_t = contract::PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: u16,

    /// Run this image instead of building one
    #[arg(long, value_name = "IMAGE", conflicts_with = "base_image")]
    pub(super) image: Option<String>,

    /// PostgreSQL database with pgvector to use instead of one in a container
    #[arg(long, value_name = "URI")]
    postgres_uri: Option<Secret>,

    /// Port to publish the debugger's page on
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    debugger_port: Option<u16>,

    /// URL of the server for the debugger's page [default: the server's URL]
    #[arg(long, value_name = "URL", requires = "debugger_port")]
    debugger_base_url: Option<String>,

    #[command(flatten)]
    pub(super) project: ProjectName,

    /// The machine that ports are opened on, where it is not this one.
    #[arg(skip)]
    machine: OnceCell<String>,
}

/// The option of every command that works on a compose project.
#[derive(Debug, clap::Args)]
pub(super) struct ProjectName {
    /// Name of the compose project [default: COMPOSE_PROJECT_NAME, or from the configuration's directory]
    #[arg(short = 'P', long, value_name = "NAME")]
    pub(super) project_name: Option<String>,
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

impl ProjectName {
    /// The name: the one given, or the one that compose would be given, or the one of the configuration's directory.
    pub(super) fn name(&self, env: &Env, directory: &Path) -> Result<String, Error> {
        match self.project_name.clone().or_else(|| env.variable(PROJECT_NAME)) {
            None => {
                let parts = directory.components().filter_map(|part| match part {
                    Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
                    _ => None,
                });
                Ok(project_name(&parts.collect::<Vec<_>>()))
            }
            Some(name) if is_project_name(&name) => Ok(name),
            Some(name) => Err(Error::Usage {
                message: format!("`{}` is not a valid name of a compose project", visible_line(&name)),
                hint: Some(
                    "write lowercase letters, digits, `-` and `_`, with a letter or digit first".to_owned(),
                ),
            }),
        }
    }
}

/// A session and what its findings are drawn with.
pub(super) struct Prepared {
    pub(super) session: Session,
    pub(super) planned: Planned,
}

impl SetupArguments {
    /// Sets the engine that everything runs on.
    pub(super) fn runs_on(&self, engine: &Engine) {
        engine.machine().map(|machine| self.machine.set(machine.to_owned()));
    }

    /// By service: the address that its ports are published on. The server's may be opened to others, the debugger's not.
    pub(super) fn addresses(&self, setup: &Setup) -> BTreeMap<String, IpAddr> {
        let default = self.machine.get().is_none().then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let address = |service: &Service| match &*service.name {
            contract::SERVER => self.host.or(default),
            _ => default,
        };
        let services = setup.services.iter().filter(|service| !service.ports.is_empty());
        services.filter_map(|service| Some((service.name.clone(), address(service)?))).collect()
    }

    /// Says if other machines can reach the server.
    pub(super) fn note_open_ports(&self, env: &mut Env) {
        let port = self.port;
        match (self.host, self.machine.get()) {
            (Some(host), _) if !host.is_loopback() => {
                console::note(env, &format!("other machines can reach the server at {host}, port {port}"));
            }
            (None, Some(machine)) => {
                let message =
                    format!("ports are published on all addresses of {machine}; --host selects one");
                console::note(env, &message);
            }
            _ => {}
        }
    }

    /// The URL of the server.
    fn server_url(&self) -> String {
        match (self.host, self.machine.get()) {
            (Some(host), _) if !host.is_unspecified() && !host.is_loopback() => {
                format!("http://{}", SocketAddr::new(host, self.port))
            }
            _ => self.url(self.port),
        }
    }

    /// The URL of a port.
    fn url(&self, port: u16) -> String {
        format!("http://{}:{port}", self.machine.get().map_or("127.0.0.1", String::as_str))
    }

    /// Reads, checks and plans; reads the values of the variables.
    pub(super) fn prepare(&self, env: &mut Env, pull: bool) -> Result<Prepared, Error> {
        self.check()?;
        let planned = self.plan.plan(env)?;
        let config = env.directory.join(&planned.project.path);
        let config = config.canonicalize().unwrap_or(config);
        let directory = real_directory(&env.directory.join(&planned.project.path));
        let file = variables::values(env, &planned.project, &planned.config);
        let setup = setup(&planned.plan, &self.options(env, &planned, &directory, &file)?);
        for note in &setup.notes {
            console::note(env, &note.message);
        }
        let given = self.given(env, &planned, &setup, &file);
        let image = self.image(env, &planned, &setup, pull)?;
        let urls = self.urls(&planned, &file);
        let watch = planned.plan.local.watch.clone();
        let server = contract::SERVER.to_owned();
        let addresses = self.addresses(&setup);
        let session =
            Session { directory, config, setup, server, image, file, given, watch, addresses, urls };
        Ok(Prepared { session, planned })
    }

    /// Says where neither key that a server may ask for is known.
    pub(super) fn note_missing_key(&self, env: &mut Env, session: &Session) {
        let server = session.setup.services.iter().find(|service| service.name == session.server);
        let is_known = |key: &contract::Key| {
            let of_setup = server.and_then(|server| server.environment.get(key.variable));
            let is_set = |name: &str| {
                let found = session.file.iter().find(|(known, _)| known == name);
                found.is_some_and(|(_, value)| value.as_ref().is_some_and(|value| !value.is_empty()))
            };
            match of_setup {
                Some(Variable::From { names, .. }) => {
                    names.iter().any(|name| session.given.iter().any(|(given, _)| given == name))
                }
                Some(Variable::Text { text }) => !text.is_empty(),
                None => is_set(key.variable) || key.legacy.is_some_and(is_set),
            }
        };
        if !contract::KEYS.iter().any(is_known) {
            let message = "no API key or license key is set; a server that requires one exits at once (set \
                           PLATFORM_API_KEY for local use in the environment or in .env)";
            console::note(env, message);
        }
    }

    /// Whether the user names a database.
    pub(super) fn has_database(&self) -> bool {
        self.postgres_uri.is_some()
    }

    fn check(&self) -> Result<(), Error> {
        let usage = |message: &str, hint: &str| {
            Err(Error::Usage { message: message.to_owned(), hint: Some(hint.to_owned()) })
        };
        if self.debugger_port == Some(self.port) {
            return usage(
                "the server and the debugger cannot have the same port",
                "give another --debugger-port",
            );
        }
        if let Some(image) = self.image.as_deref().filter(|image| ImageName::parse(image).is_err()) {
            let message = format!("--image: `{}` is not the name of an image", visible_line(image));
            return usage(&message, "write it as registry/name:tag");
        }
        let is_address = |uri: &Secret| SCHEMES.iter().any(|scheme| uri.0.starts_with(scheme));
        if self.postgres_uri.as_ref().is_some_and(|uri| !is_address(uri)) {
            // It may hold a password, so that it is not said.
            return usage(
                "--postgres-uri is not the address of a PostgreSQL database",
                "write it as postgres://user:password@host:5432/database",
            );
        }
        Ok(())
    }

    fn options(
        &self,
        env: &Env,
        planned: &Planned,
        directory: &Path,
        values: &[(String, Option<String>)],
    ) -> Result<SetupOptions, Error> {
        let of_map = match &planned.config.env {
            Some(EnvConfig::Map(map)) => {
                map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => IndexMap::new(),
        };
        let is_set = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
        let names = values.iter().filter(|(_, value)| of_map.is_empty() && is_set(value));
        let names = names.map(|(name, _)| name.clone());
        Ok(SetupOptions {
            name: self.project.name(env, directory)?,
            port: self.port,
            debugger_port: self.debugger_port,
            debugger_base_url: Some(self.debugger_base_url.clone().unwrap_or_else(|| self.server_url())),
            has_database: self.has_database(),
            image: self.image.clone(),
            env_file_names: names.collect(),
            env: of_map,
        })
    }

    /// The values of what the setup takes from here: the user's `env` wins over the environment of this process, and
    /// that over a .env file beside the configuration.
    fn given(
        &self,
        env: &Env,
        planned: &Planned,
        setup: &Setup,
        values: &[(String, Option<String>)],
    ) -> Vec<(String, String)> {
        let dotenv = planned.project.files.read(DOTENV).unwrap_or_default();
        let dotenv = dotenv::parse(&dotenv, |name| (env.variables)(name)).variables;
        let dotenv: Vec<_> = dotenv.into_iter().collect();
        let known = |all: &[(String, Option<String>)], name: &str| {
            let found = all.iter().find(|(known, _)| known == name);
            found.and_then(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        let value = |name: &String| {
            let own = self.postgres_uri.as_ref().filter(|_| name == contract::OWN_DATABASE);
            let own = own.map(|uri| uri.0.clone());
            let value = own.or_else(|| known(values, name)).or_else(|| env.variable(name));
            Some((name.clone(), value.or_else(|| known(&dotenv, name))?))
        };
        let variables = setup.services.iter().flat_map(|service| service.environment.values());
        let wanted = variables.filter_map(|variable| match variable {
            Variable::From { names, .. } => Some(names),
            Variable::Text { .. } => None,
        });
        wanted.flatten().filter_map(value).collect()
    }

    fn image(&self, env: &Env, planned: &Planned, setup: &Setup, pull: bool) -> Result<Image, Error> {
        let built = setup.services.iter().find_map(|service| match &service.image {
            ServiceImage::Built { name } => Some(name.clone()),
            ServiceImage::Named { .. } => None,
        });
        let Some(tag) = built else { return Ok(Image::Named) };
        let options = BuildOptions { tags: vec![tag], platform: None, pull, no_cache: false, ignore: &[] };
        Ok(Image::Built(Box::new(image::request(env, planned, options)?)))
    }

    fn urls(&self, planned: &Planned, values: &[(String, Option<String>)]) -> Urls {
        let plan = &planned.plan;
        let variable = |name: &str| values.iter().find(|(known, _)| known == name)?.1.clone();
        let prefix = live::mount_prefix(plan, plan.contract.get(keys::HTTP), variable);
        let urls = Urls::new(plan, self.server_url(), &prefix, None, local::STUDIO.0);
        urls.with_debugger(self.debugger_port.map(|port| self.url(port)))
    }
}

/// The directory of a file, as programs tell of it.
pub(super) fn real_directory(path: &Path) -> PathBuf {
    let directory = directory_of(path);
    directory.canonicalize().unwrap_or(directory)
}

/// The engine that this process means.
pub(super) fn engine(env: &Env, runtime: &Runtime) -> Result<Engine, Error> {
    Ok(runtime.block_on(env.stop.unless_asked(Engine::connect(&env.engine())))??)
}

/// Whether values of `env` stand in the configuration itself, and so in whatever is made of it.
pub(super) fn has_values(planned: &Planned) -> bool {
    matches!(&planned.config.env, Some(EnvConfig::Map(values)) if !values.is_empty())
}
