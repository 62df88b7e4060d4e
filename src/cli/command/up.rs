//! `agentcli up`

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::attach::Attach;
use crate::cli::compose::Together;
use crate::cli::env::Env;
use crate::cli::setup::{SetupArguments, engine};
use crate::error::Error;
use crate::up::{self, Mode, Options};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli up                     run it, on port 8123
  agentcli up --wait              leave it running; `agentcli down` ends it
  agentcli up --watch --no-pull   take over every change of the source")]
pub(crate) struct Up {
    #[command(flatten)]
    setup: SetupArguments,

    /// A compose file with services to run beside the server; docker compose runs everything then. Its relative paths
    /// start at the configuration's directory
    #[arg(short, long, value_name = "FILE", conflicts_with = "watch")]
    docker_compose: Option<PathBuf>,

    /// Wait until every service is well, and leave them running
    #[arg(long)]
    wait: bool,

    /// How long everything may take until it is well, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    wait_timeout: u64,

    /// Build and start anew when the source, the configuration or its env file changes
    #[arg(long, conflicts_with = "wait")]
    watch: bool,

    /// Take the newest images from their registries (the default)
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use the images that are here
    #[arg(long)]
    no_pull: bool,

    /// Make every container anew, even if nothing changed
    #[arg(long, overrides_with = "no_recreate")]
    recreate: bool,

    /// Leave unchanged containers running (the default)
    #[arg(long)]
    no_recreate: bool,

    /// Print events as JSON, one a line
    #[arg(long)]
    json: bool,
}

impl Up {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let engine = engine(env, &runtime);
        engine.iter().for_each(|engine| self.setup.runs_on(engine));
        // A mistake in the configuration is told whether there is an engine or not.
        let prepared = self.setup.prepare(env, !self.no_pull)?;
        let engine = engine?;
        self.setup.note_missing_key(env, &prepared.session);
        self.setup.note_open_ports(env);
        let options = Options {
            mode: match (self.wait, self.watch) {
                (true, _) => Mode::Detached,
                (false, true) => Mode::Watching,
                (false, false) => Mode::Attached,
            },
            pull: !self.no_pull,
            recreate: self.recreate,
            patience: Duration::from_secs(self.wait_timeout),
            all_logs: env.verbose,
        };
        if let Some(file) = &self.docker_compose {
            let (engine, arguments, options) = (&engine, &self.setup, &options);
            let together = Together { engine, arguments, file, options, is_json: self.json };
            return runtime.block_on(together.up(env, prepared));
        }
        let source = prepared.planned.project.source.clone();
        let mut attach = Attach::new(env, &self.setup, source, self.json);
        let run = up::run(&engine, prepared.session, &options, &mut attach, &stop);
        runtime.block_on(run)?;
        Ok(())
    }
}
