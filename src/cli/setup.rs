//! The arguments of a setup, and the session that they and the configuration make.

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use super::agent_lock;
use super::collector;
use super::compile::{PlanOptions, Planned, directory_of};
use super::console::{note, visible_line};
use super::env::Env;
use super::runtime::Runtime;
use super::settings::Settings;
use super::variables;
use super::{image, image_name};
use crate::api::wire::Redacted;
use crate::compiler::back::lower::setup::{is_project_name, project_name};
use crate::compiler::back::plan::{ServiceImage, Setup};
use crate::compiler::server::setup as contract;
use crate::compiler::words::listed;
use crate::compose::Project;
use crate::engine::{BuildRequest, Engine, MACHINE};
use crate::error::Error;
use crate::up::{Request, Session};

/// The variable that names the project for compose.
const PROJECT_NAME: &str = "COMPOSE_PROJECT_NAME";

/// A database that the user names by its address.
pub(super) struct Database {
    /// The option with the address.
    pub(super) option: &'static str,
    pub(super) name: &'static str,
    pub(super) schemes: &'static [&'static str],
    /// The form of an address.
    pub(super) form: &'static str,
}

/// The database of `--postgres-uri`.
pub(super) const POSTGRES: Database = Database {
    option: "--postgres-uri",
    name: "PostgreSQL",
    schemes: &["postgres://", "postgresql://"],
    form: "postgres://user:password@host:5432/database",
};

impl Database {
    /// Refuses what is no address of it. It is not shown, since it can hold a password.
    pub(super) fn check(&self, uri: &str) -> Result<(), Error> {
        if self.schemes.iter().any(|scheme| uri.starts_with(scheme)) {
            return Ok(());
        }
        let Self { option, name, form, .. } = self;
        let message = format!("{option} is not the address of a {name} database");
        Err(Error::usage(message, format!("write it as {form}")))
    }
}

/// Variables that select the engine and its credentials.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
];

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
    port: u16,

    /// Run this image instead of building one
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse, conflicts_with = "base_image")]
    pub(super) image: Option<String>,

    /// PostgreSQL database with pgvector to use instead of one in a container
    #[arg(long, value_name = "URI", value_parser = redacted)]
    postgres_uri: Option<Redacted>,

    /// Port to publish the debugger's page on
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    debugger_port: Option<u16>,

    /// URL of the server for the debugger's page [default: the server's URL]
    #[arg(long, value_name = "URL", requires = "debugger_port")]
    debugger_base_url: Option<String>,

    #[command(flatten)]
    pub(super) project: ProjectName,
}

/// The option of every command that works on a compose project.
#[derive(Debug, clap::Args)]
pub(super) struct ProjectName {
    /// Name of the compose project [default: COMPOSE_PROJECT_NAME, or from the configuration's directory]
    #[arg(short = 'P', long, value_name = "NAME")]
    pub(super) project_name: Option<String>,
}

/// A value that is never printed.
pub(super) fn redacted(text: &str) -> Result<Redacted, String> {
    Ok(Redacted::new(text))
}

impl ProjectName {
    /// The name: from the option, else from the environment, else from the configuration's directory.
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
            Some(name) => Err(Error::usage(
                format!("`{}` is not a valid name of a compose project", visible_line(&name)),
                "use lowercase letters, digits, `-` and `_`, starting with a letter or digit",
            )),
        }
    }
}

/// A session, and the plan that it was made from.
pub(super) struct Prepared {
    pub(super) session: Session,
    pub(super) planned: Planned,
    pub(super) request: Request,
}

impl SetupArguments {
    /// Reads, checks and plans the project, and reads the values of its variables. `machine` is the one that ports are
    /// published on, if it is not this one.
    pub(super) fn prepare(
        &self,
        env: &mut Env,
        locked: agent_lock::ByDefault,
        pull: bool,
        machine: Option<&str>,
    ) -> Result<Prepared, Error> {
        self.check()?;
        let planned = self.plan.plan(env, locked)?;
        let config = env.directory.join(&planned.project.path);
        let directory = real_directory(&config);
        let request = self.request(env, &directory, machine)?;
        let file = variables::values(env, &planned.project, &planned.config, false);
        let setup = request.setup(&planned.plan, &planned.config, &file);
        let images = setup.services.iter().filter_map(|service| match &service.image {
            ServiceImage::Named { name } => Some(&**name),
            ServiceImage::Built { .. } => None,
        });
        planned.check_services(&images.collect::<Vec<_>>())?;
        for it in &setup.notes {
            note(env, &it.message);
        }
        let settings = Settings::of(env, &planned.project);
        let session = Session {
            config: config.canonicalize().unwrap_or(config),
            given: request.given(&setup, &file, |name| env.variable(name), |name| settings.in_file(name)),
            build: build(env, &planned, &setup, pull)?,
            urls: request.urls(&planned.plan, &file),
            watch: planned.watch(),
            server: contract::SERVER.to_owned(),
            addresses: request.addresses(&setup),
            directory,
            setup,
            file,
        };
        Ok(Prepared { session, planned, request })
    }

    fn request(&self, env: &Env, directory: &Path, machine: Option<&str>) -> Result<Request, Error> {
        Ok(Request {
            name: self.project.name(env, directory)?,
            host: self.host,
            port: self.port,
            image: self.image.clone(),
            postgres_uri: self.postgres_uri.as_ref().map(|uri| uri.expose().to_owned()),
            debugger_port: self.debugger_port,
            debugger_base_url: self.debugger_base_url.clone(),
            machine: machine.map(str::to_owned),
        })
    }

    fn check(&self) -> Result<(), Error> {
        if self.debugger_port == Some(self.port) {
            return Err(Error::usage(
                "the server and the debugger cannot use the same port",
                "choose another --debugger-port",
            ));
        }
        self.postgres_uri.as_ref().map_or(Ok(()), |uri| POSTGRES.check(uri.expose()))
    }
}

/// Notes what is worth knowing before the setup starts: a missing key, and ports that other machines can reach.
pub(super) fn note_before_start(env: &mut Env, prepared: &Prepared) {
    if !prepared.session.has_key() && !prepared.planned.plan.server.product.keys.is_empty() {
        let message = "no API key or license key is set; a server that requires one exits at once (set \
                       PLATFORM_API_KEY for local use in the environment or in .env, or use --server memory, which needs none)";
        note(env, message);
    }
    let is_here = |value: &Option<String>| value.as_deref().and_then(collector::from_container).is_some();
    let here = prepared.session.file.iter().filter(|(_, value)| is_here(value));
    let here: Vec<_> = here.map(|(name, _)| name.as_str()).collect();
    if !here.is_empty() {
        let names = listed(here.into_iter());
        note(
            env,
            &format!(
                "in a container, the localhost of {names} is the container; this machine is `{MACHINE}` there"
            ),
        );
    }
    prepared.request.open_ports().iter().for_each(|message| note(env, message));
}

/// The build of the server's image, if it is built.
fn build(env: &Env, planned: &Planned, setup: &Setup, pull: bool) -> Result<Option<BuildRequest>, Error> {
    let built = setup.services.iter().find_map(|service| match &service.image {
        ServiceImage::Built { name } => Some(name.clone()),
        ServiceImage::Named { .. } => None,
    });
    let Some(tag) = built else { return Ok(None) };
    Ok(Some(BuildRequest { tags: vec![tag], pull, ..image::request(env, planned)? }))
}

/// The canonical directory of a file.
pub(super) fn real_directory(path: &Path) -> PathBuf {
    let directory = directory_of(path);
    directory.canonicalize().unwrap_or(directory)
}

/// Connects to the container engine that the environment selects.
pub(super) fn engine(env: &Env, runtime: &Runtime) -> Result<Engine, Error> {
    Ok(runtime.block_on(env.stop.unless_asked(Engine::connect(&env.engine())))??)
}

/// The compose project of `directory`. Compose gets the variables of the .env file there from us, because its own parser
/// differs and prints parts of values that it takes for variables.
pub(super) fn compose_project(env: &mut Env, directory: PathBuf, name: String, file: &Path) -> Project {
    let variable = |name: &&str| Some(((*name).to_owned(), env.variable(name)?));
    let mut variables: Vec<_> = PASSED_ON.iter().filter_map(variable).collect();
    let settings = Settings::in_directory(env, &directory);
    let is_free = |name: &str| env.named(name).is_none() && !name.is_empty() && !name.starts_with("DOCKER_");
    let usable = settings
        .variables()
        .filter(|(name, value)| is_free(name) && !name.contains(['=', '\0']) && !value.contains('\0'));
    variables.extend(usable.map(|(name, value)| (name.to_owned(), value.to_owned())));
    Project { directory, name, file: env.directory.join(file), variables }
}
