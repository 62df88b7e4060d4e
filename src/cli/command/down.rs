//! `agentcli down`

use serde_json::json;

use crate::cli::check::ConfigOption;
use crate::cli::console::{NOTE, WARNING, paint, visible};
use crate::cli::env::Env;
use crate::cli::interrupt::interrupted;
use crate::cli::setup::{ProjectName, engine, real_directory};
use crate::error::Error;
use crate::up::{self, Change, Event};

/// Stop and remove what `up` started
///
/// The data stays, unless --volumes is given.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli down             stop and remove the containers and their network
  agentcli down --volumes   and the data")]
pub(crate) struct Down {
    #[command(flatten)]
    config: ConfigOption,

    #[command(flatten)]
    project: ProjectName,

    /// Remove the volumes, and all data in them
    #[arg(long)]
    volumes: bool,

    /// Print events as JSON, one a line
    #[arg(long)]
    json: bool,
}

impl Down {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        // Where the configuration lies says what the project is called; what it says need not be right any more.
        let config = self.config.path(env);
        let directory = real_directory(&env.directory.join(config));
        let name = self.project.name(env, &directory)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let engine = engine(env, &runtime)?;
        runtime.block_on(async {
            let down = up::down(&engine, &name, self.volumes, |event| self.tell(env, event));
            tokio::select! {
                biased;
                () = interrupted() => Err(up::Error::Interrupted),
                done = down => done,
            }
        })?;
        Ok(())
    }

    fn tell(&self, env: &mut Env, event: &Event) {
        if self.json {
            env.out.write(&format!("{}\n", json!(event))).and_then(|()| env.out.flush()).ok();
            return;
        }
        match event {
            Event::Service { service, change: Change::Removed } => env.tell(&format!("  removed  {service}")),
            Event::Service { service, change: Change::Stopped } => env.tell(&format!("  stopped  {service}")),
            Event::Note { message } => {
                env.tell(&format!("{}: {}", paint(&env.err, NOTE, "note"), visible(message)))
            }
            Event::Warning { message } => {
                env.tell(&format!("{}: {}", paint(&env.err, WARNING, "warning"), visible(message)))
            }
            _ => {}
        }
    }
}
