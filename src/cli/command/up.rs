//! `agentcli up`

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::agent_lock;
use crate::cli::build_options::{BuildOptions, in_long_help};
use crate::cli::collector;
use crate::cli::compile::Planned;
use crate::cli::console;
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::setup::{Prepared, SetupArguments, compose_project, engine, note_before_start};
use crate::compiler::back::emit::compose::{Form, compose};
use crate::compiler::back::plan::Variable;
use crate::compose::{self, Project};
use crate::engine::{Engine, Settings};
use crate::error::Error;
use crate::up::{self, Hooks, Mode, Options, Session};

#[derive(Debug, clap::Args)]
#[command(mut_args(in_long_help))]
#[command(after_help = "\
Examples:
  agentcli up                     run it, on port 8123
  agentcli up --wait              leave it running; stop it with `agentcli down`
  agentcli up --watch --no-pull   rebuild and restart on every change of the source")]
pub(crate) struct Up {
    #[command(flatten)]
    setup: SetupArguments,

    #[command(flatten)]
    build: BuildOptions,

    /// Run the services of this compose file beside the server, with docker compose; not available with --watch
    #[arg(short, long, value_name = "FILE", conflicts_with = "watch")]
    docker_compose: Option<PathBuf>,

    /// Wait until all services are healthy, and leave them running
    #[arg(long)]
    wait: bool,

    /// Timeout for all services to become healthy, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    wait_timeout: u64,

    /// Rebuild and restart when the source, the configuration or its env file changes
    #[arg(long, conflicts_with = "wait")]
    watch: bool,

    /// Recreate all containers, even if nothing changed
    #[arg(long, overrides_with = "no_recreate")]
    recreate: bool,

    /// Leave unchanged containers running (the default)
    #[arg(long, hide_short_help = true)]
    no_recreate: bool,

    /// Send traces of Python graphs to an OpenTelemetry collector, and nowhere else [default URL: http://127.0.0.1:4318]
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, value_parser = collector::address)]
    #[arg(default_missing_value = collector::DEFAULT, hide_short_help = true)]
    otlp: Option<String>,

    /// Print events as JSON Lines
    #[arg(long)]
    json: bool,
}

impl Up {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let engine = engine(env, &runtime);
        // Mistakes in the configuration are reported whether there is an engine or not.
        let machine = engine.as_ref().ok().and_then(Engine::machine);
        let traces = Traces(self.otlp);
        let mut prepared =
            self.setup.prepare(env, agent_lock::ByDefault::InCi, self.build.pulls(), machine)?;
        traces.send(&mut prepared.session);
        let settings = self.build.read(env, &prepared.planned.plan, prepared.session.build.is_some())?;
        prepared.session.set_build_settings(&settings);
        let engine = engine?;
        note_before_start(env, &prepared);
        let options = Options {
            mode: match (self.wait, self.watch) {
                (true, _) => Mode::Detached,
                (false, true) => Mode::Watching,
                (false, false) => Mode::Attached,
            },
            pull: self.build.pulls(),
            recreate: self.recreate,
            wait_timeout: Duration::from_secs(self.wait_timeout),
            all_logs: env.verbose,
        };
        let Prepared { session, planned, .. } = prepared;
        let services = self.docker_compose.as_ref();
        let services = services.map(|file| services_project(env, &engine, &session, &planned, file));
        let mut printer = Printer::new(
            env,
            self.json,
            Replan { setup: &self.setup, settings, machine: engine.machine(), traces },
        );
        printer.source = Some(planned.project.source);
        match services {
            Some((project, text)) => {
                let run = compose::run(&engine, &session, &project, &text, &options, &mut printer, &stop);
                Ok(runtime.block_on(run)?)
            }
            None => Ok(runtime.block_on(up::run(&engine, session, &options, &mut printer, &stop))?),
        }
    }
}

/// The compose project with the services of the user's `file`, and the text of the setup's file.
fn services_project(
    env: &mut Env,
    engine: &Engine,
    session: &Session,
    planned: &Planned,
    file: &Path,
) -> (Project, String) {
    let mut project = compose_project(env, session.directory.clone(), session.setup.name.clone(), file);
    let setup = compose::without_values(session, &mut project);
    // The engine may have been found without a variable that names it.
    if engine.is_here() {
        project.variables.push(("DOCKER_HOST".to_owned(), engine.host().to_owned()));
    }
    let addresses = session.addresses.clone();
    let remark = ", for `agentcli up`.".to_owned();
    let form = Form { remark, is_named: true, is_run_by_up: true, addresses, ..Form::default() };
    (project, compose(&planned.plan, &setup, &form))
}

/// The address of the collector, if there is one.
struct Traces(Option<String>);

impl Traces {
    /// Sets the variables of the services that run the project.
    fn send(&self, session: &mut Session) {
        let variables = self.0.iter().flat_map(|address| collector::variables_in_container(address));
        let variables: Vec<_> = variables.map(|(name, text)| (name, Variable::Text { text })).collect();
        let servers = session.setup.services.iter_mut().filter(|service| service.is_server);
        servers.for_each(|service| service.environment.extend(variables.iter().cloned()));
    }
}

/// The input of a plan.
struct Replan<'a> {
    setup: &'a SetupArguments,
    settings: Settings,
    /// The machine that ports are published on, if it is not this one.
    machine: Option<&'a str>,
    traces: Traces,
}

impl Hooks for Printer<'_, Replan<'_>> {
    fn replan(&mut self) -> Result<Session, String> {
        let prepared =
            self.context.setup.prepare(self.env, agent_lock::ByDefault::InCi, false, self.context.machine);
        let mut prepared = prepared.map_err(|error| {
            console::report(self.env, &error);
            match error {
                Error::Stale { .. } => format!("{} is out of date", agent_lock::NAME),
                Error::Lock { .. } => format!("{} cannot be used", agent_lock::NAME),
                _ => "the configuration has errors".to_owned(),
            }
        })?;
        prepared.session.set_build_settings(&self.context.settings);
        self.context.traces.send(&mut prepared.session);
        self.env.end_round();
        self.source = Some(prepared.planned.project.source);
        Ok(prepared.session)
    }
}
