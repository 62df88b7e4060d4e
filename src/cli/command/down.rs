//! `agentcli down`

use std::path::{Path, PathBuf};

use crate::cli::check::ConfigOption;
use crate::cli::env::Env;
use crate::cli::printer::Printer;
use crate::cli::setup::{ProjectName, compose_project, engine, real_directory};
use crate::compose;
use crate::error::Error;
use crate::up;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli down             stop and remove the containers and their network
  agentcli down --volumes   also remove the data")]
pub(crate) struct Down {
    #[command(flatten)]
    config: ConfigOption,

    #[command(flatten)]
    project: ProjectName,

    /// Also stop and remove the services of this compose file, as given to `up`
    #[arg(short, long, value_name = "FILE")]
    docker_compose: Option<PathBuf>,

    /// Remove the volumes and all data in them
    #[arg(long)]
    volumes: bool,

    /// Print events as JSON Lines
    #[arg(long)]
    json: bool,
}

impl Down {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        // The configuration's directory names the project; its contents need not be valid any more.
        let config = self.config.path(env);
        let directory = real_directory(&env.directory.join(config));
        let name = self.project.name(env, &directory)?;
        if let Some(file) = &self.docker_compose {
            return self.with_compose(env, directory, name, file);
        }
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let engine = engine(env, &runtime)?;
        runtime.block_on(async {
            // A name that was not given on the command line may be another directory's project.
            let owner = self.project.project_name.is_none().then_some(directory.as_path());
            let mut printer = Printer::new(env, self.json, ());
            let down = up::down(&engine, &name, owner, self.volumes, &mut printer);
            stop.unless_asked(down).await?
        })?;
        Ok(())
    }

    /// Only compose knows what it started.
    fn with_compose(
        &self,
        env: &mut Env,
        directory: PathBuf,
        name: String,
        file: &Path,
    ) -> Result<(), Error> {
        let project = compose_project(env, directory, name, file);
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let mut printer = Printer::new(env, self.json, ());
        runtime.block_on(compose::down(&project, self.volumes, &mut printer, &stop))?;
        Ok(())
    }
}
