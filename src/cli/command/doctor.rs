//! `agentcli doctor`

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::check_system;
use super::deploy::{KUBERNETES, Saved, kubectl_variables};
use super::dev::{UNUSED, surroundings};
use crate::cli::account::{AccountOptions, Target};
use crate::cli::check::{self, ConfigOption};
use crate::cli::console::{count, note};
use crate::cli::env::Env;
use crate::cli::environment::{CERTIFICATES, PROGRAM_CERTIFICATES, PROXIES};
use crate::cli::report::checks;
use crate::cli::settings::Settings;
use crate::cli::setup::{ProjectName, real_directory};
use crate::cluster::{self, Cluster};
use crate::compiler::back::plan::Plan;
use crate::compiler::server::{local, setup as contract};
use crate::compiler::{Compiled, Options};
use crate::dev::{Port, Selection};
use crate::doctor::{self, Check, Group, Problem, Request, Service, Status, Task};
use crate::error::Error;
use crate::project::{self, Project};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli doctor                 what the project here needs
  agentcli doctor dev             only what `dev` needs
  agentcli doctor build --json    for a CI service")]
pub(crate) struct Doctor {
    /// Commands to check for: dev, build, up or deploy [default: all]
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(Task::ALL.map(Task::name)), hide_possible_values = true)]
    commands: Vec<String>,

    #[command(flatten)]
    config: ConfigOption,

    /// Port of the server [default: 2024 or the next free one for dev, 8123 for up]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Python interpreter for dev
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    #[command(flatten)]
    project: ProjectName,

    #[command(flatten)]
    account: AccountOptions,

    /// Check a cluster instead: kubernetes, as in `deploy`
    #[arg(long, value_name = "TARGET", value_parser = PossibleValuesParser::new([KUBERNETES]), hide_possible_values = true, conflicts_with_all = ["commands", "port", "python"])]
    to: Option<String>,

    /// Context of kubectl [default: the current one]
    #[arg(long, value_name = "CONTEXT", requires = "to")]
    context: Option<String>,

    /// Namespace in the cluster [default: that of the context]
    #[arg(long, value_name = "NAMESPACE", requires = "to")]
    namespace: Option<String>,

    /// Print the result as JSON (`agentcli schema doctor`)
    #[arg(long)]
    json: bool,
}

/// The configuration, and what it is needed for.
struct Configuration {
    path: PathBuf,
    check: Check,
    plan: Option<Plan>,
}

impl Doctor {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        if self.to.is_some() {
            return self.examine_cluster(env);
        }
        self.commands.iter().try_for_each(|name| check_system(name))?;
        let configuration = self.configuration(env);
        if configuration.is_none() {
            note(env, "no configuration here; checking what any project needs");
        }
        let required = self.required(configuration.is_some());
        let (path, first, plan) = match configuration {
            Some(Configuration { path, check, plan }) => (Some(path), Some(check), plan),
            None => (None, None, None),
        };
        let request = self.request(env, path.as_deref(), plan)?;
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let examined = runtime.block_on(stop.unless_asked(doctor::examine(&request)));
        // A thread may wait for a disk that does not answer.
        runtime.shutdown_background();
        let first = first.filter(|check| check.is_for(&request.tasks));
        let found: Vec<Check> = first.into_iter().chain(examined?).collect();
        let lacks = |check: &&Check| check.status == Status::Missing && check.is_for(&required);
        let missing: Vec<String> = found.iter().filter(lacks).map(|check| check.name.clone()).collect();
        let text = if self.json {
            as_json(path.as_deref(), &required, &found, missing.is_empty())
        } else {
            checks::render(&found, &required, &env.out, env.width)
        };
        env.out.write(&text)?;
        if missing.is_empty() { Ok(()) } else { Err(Error::Unready { missing }) }
    }

    /// Checks a cluster, and changes nothing there.
    fn examine_cluster(&self, env: &mut Env) -> Result<(), Error> {
        let given = Saved { context: self.context.clone(), namespace: self.namespace.clone(), push_to: None };
        let target = given.or_file(&env.directory)?.target();
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let variables = kubectl_variables(env);
        let finding = Cluster::find(&target, &env.directory, &variables, stop.clone());
        let examined = match runtime.block_on(finding) {
            Ok(cluster) => runtime.block_on(stop.unless_asked(cluster.examine()))?,
            Err(cluster::Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => vec![("cluster", Err(error))],
        };
        let check = |(id, result): (&'static str, Result<String, cluster::Error>)| {
            let (status, found, help) = match result {
                Ok(found) => (Status::Fine, found, None),
                Err(error) => (Status::Missing, error.to_string(), error.hint()),
            };
            Check {
                id,
                name: id.to_owned(),
                group: Group::Cluster,
                needed_by: &[Task::Deploy],
                status,
                found,
                help,
            }
        };
        let found: Vec<Check> = examined.into_iter().map(check).collect();
        let missing: Vec<String> =
            found.iter().filter(|it| it.status == Status::Missing).map(|it| it.name.clone()).collect();
        let text = if self.json {
            as_json(None, &[Task::Deploy], &found, missing.is_empty())
        } else {
            checks::render(&found, &[Task::Deploy], &env.out, env.width)
        };
        env.out.write(&text)?;
        if missing.is_empty() { Ok(()) } else { Err(Error::Unready { missing }) }
    }

    /// The named commands, or all that run on this operating system.
    fn tasks(&self) -> Vec<Task> {
        let is_named = |task: &Task| self.commands.iter().any(|name| name == task.name());
        let runs = |task: &Task| check_system(task.name()).is_ok();
        let is_asked = |task: &Task| if self.commands.is_empty() { runs(task) } else { is_named(task) };
        Task::ALL.into_iter().filter(is_asked).collect()
    }

    /// The commands for which nothing may be missing: the named ones, or those that run a project without a service.
    fn required(&self, has_configuration: bool) -> Vec<Task> {
        match (self.commands.is_empty(), has_configuration) {
            (false, _) => self.tasks(),
            (true, true) => self.tasks().into_iter().filter(|task| *task != Task::Deploy).collect(),
            (true, false) => Vec::new(),
        }
    }

    /// Checks and plans the configuration. None if there is none in this directory and none is named.
    fn configuration(&self, env: &mut Env) -> Option<Configuration> {
        let default = env.directory.join(project::default_config(&env.directory).name);
        if self.config.config.is_none() && default.symlink_metadata().is_err() {
            return None;
        }
        let path = self.config.path(env);
        let loaded = Project::load(&env.directory, &path, env.boundary());
        let (_, compiled) =
            check::compiled(env, &path, loaded, &Options { is_local: true, ..Options::default() }, UNUSED);
        let Compiled { checked, left_out, plan, .. } = compiled;
        let shown = path.display();
        let help = format!("run `agentcli validate {shown}`");
        let check = match (checked.errors(), left_out) {
            (0, 0) => Check::configuration(format!("{shown}, {}", count(checked.graphs, "graph")), None),
            (0, errors) => {
                Check::configuration_of_images(format!("{shown} has {}", count(errors, "error")), help)
            }
            (errors, _) => {
                Check::configuration(format!("{shown} has {}", count(errors, "error")), Some(help))
            }
        };
        Some(Configuration { path, check, plan })
    }

    fn request(&self, env: &mut Env, config: Option<&Path>, plan: Option<Plan>) -> Result<Request, Error> {
        let config_path = env.directory.join(config.unwrap_or(Path::new("agent.json")));
        let directory = real_directory(&config_path);
        let problem =
            |error: Error| Problem { reason: error.to_string(), help: error.hint().unwrap_or_default() };
        let mut settings = Settings::beside(env, self.config.config.as_deref());
        let service = self.account.target(env, &mut settings).map_err(problem);
        let service = service.map(|Target { host, origin, account }| Service {
            host,
            origin,
            account: account.map_err(problem),
        });
        let set = |names: &[&str]| -> Vec<(String, String)> {
            names.iter().filter_map(|name| Some(((*name).to_owned(), env.variable(name)?))).collect()
        };
        let paths = |(name, value): (String, String)| -> Vec<(String, PathBuf)> {
            match &*name {
                "SSL_CERT_DIR" => std::env::split_paths(&value).map(|path| (name.clone(), path)).collect(),
                _ => vec![(name, value.into())],
            }
        };
        let certificates = set(CERTIFICATES).into_iter().chain(set(PROGRAM_CERTIFICATES)).flat_map(paths);
        Ok(Request {
            selection: Selection {
                python: self.python.as_ref().map(|path| env.directory.join(path)),
                surroundings: surroundings(env),
                timeout: doctor::TIMEOUT,
                verbose: env.verbose,
            },
            dev_port: self.port.map_or(Port::From(local::PORT), Port::Exactly),
            up_port: self.port.unwrap_or(contract::PORT),
            project: self.project.name(env, &directory)?,
            engine: env.engine(),
            service,
            proxies: set(PROXIES),
            certificates: certificates.map(|(name, path)| (name, env.directory.join(path))).collect(),
            tasks: self.tasks(),
            directory,
            plan,
        })
    }
}

fn as_json(configuration: Option<&Path>, required: &[Task], checks: &[Check], ready: bool) -> String {
    let report = json!({
        "version": 1,
        "configuration": configuration.map(|path| path.display().to_string()),
        "ready": ready,
        "required_for": required,
        "checks": checks,
    });
    format!("{report}\n")
}
