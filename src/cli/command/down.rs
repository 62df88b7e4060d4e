//! `agentcli down`

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::check::ConfigOption;
use crate::cli::compose::project;
use crate::cli::console::{NOTE, WARNING, say, visible_line};
use crate::cli::env::Env;
use crate::cli::setup::{ProjectName, engine, real_directory};
use crate::compose;
use crate::error::Error;
use crate::up::{self, Change, Event};

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

    /// The compose file that `up` was given, whose services are stopped and removed too
    #[arg(short, long, value_name = "FILE")]
    docker_compose: Option<PathBuf>,

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
        if let Some(file) = &self.docker_compose {
            return self.with_compose(env, directory, name, file);
        }
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let engine = engine(env, &runtime)?;
        runtime.block_on(async {
            // Whoever names a project means that one; a name that comes from elsewhere may be another's.
            let owner = self.project.project_name.is_none().then_some(directory.as_path());
            let down = up::down(&engine, &name, owner, self.volumes, |event| self.tell(env, event));
            stop.unless_asked(down).await?
        })?;
        Ok(())
    }

    /// Compose alone knows what it started.
    fn with_compose(
        &self,
        env: &mut Env,
        directory: PathBuf,
        name: String,
        file: &Path,
    ) -> Result<(), Error> {
        let project = project(env, directory, name, file);
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let mut say = |event: &Event| self.tell(env, event);
        runtime.block_on(compose::down(&project, self.volumes, &mut say, &stop))?;
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
            Event::Note { message } => say(env, NOTE, "note", message),
            Event::Warning { message } => say(env, WARNING, "warning", message),
            Event::Log { line, .. } => env.tell(&visible_line(line)),
            _ => {}
        }
    }
}
