//! `agentcli up`

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::compose::WithServices;
use crate::cli::env::Env;
use crate::cli::setup::{SetupArguments, engine, note_before_start};
use crate::cli::up_hooks::UpHooks;
use crate::engine::Engine;
use crate::error::Error;
use crate::up::{self, Mode, Options};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli up                     run it, on port 8123
  agentcli up --wait              leave it running; stop it with `agentcli down`
  agentcli up --watch --no-pull   rebuild and restart on every change of the source")]
pub(crate) struct Up {
    #[command(flatten)]
    setup: SetupArguments,

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

    /// Pull newer images (the default)
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use local images only
    #[arg(long)]
    no_pull: bool,

    /// Recreate all containers, even if nothing changed
    #[arg(long, overrides_with = "no_recreate")]
    recreate: bool,

    /// Leave unchanged containers running (the default)
    #[arg(long)]
    no_recreate: bool,

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
        let prepared = self.setup.prepare(env, !self.no_pull, machine)?;
        let engine = engine?;
        note_before_start(env, &prepared);
        let options = Options {
            mode: match (self.wait, self.watch) {
                (true, _) => Mode::Detached,
                (false, true) => Mode::Watching,
                (false, false) => Mode::Attached,
            },
            pull: !self.no_pull,
            recreate: self.recreate,
            wait_timeout: Duration::from_secs(self.wait_timeout),
            all_logs: env.verbose,
        };
        if let Some(file) = &self.docker_compose {
            let (engine, arguments, options) = (&engine, &self.setup, &options);
            let run = WithServices { engine, arguments, file, options, is_json: self.json };
            return runtime.block_on(run.up(env, prepared));
        }
        let source = prepared.planned.project.source.clone();
        let mut hooks = UpHooks::new(env, &self.setup, engine.machine(), source, self.json);
        let run = up::run(&engine, prepared.session, &options, &mut hooks, &stop);
        runtime.block_on(run)?;
        Ok(())
    }
}
