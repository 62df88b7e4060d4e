//! `agentcli compose`

use std::path::{Path, PathBuf};

use super::dockerfile as dockerfile_command;
use crate::cli::agent_lock;
use crate::cli::artifact::{Artifact, SaveOptions};
use crate::cli::compile::{Planned, directory_of};
use crate::cli::console::{note, warn};
use crate::cli::env::Env;
use crate::cli::setup::{Prepared, SetupArguments};
use crate::compiler::back::emit::compose::{self, Build, Form};
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::files::Files;
use crate::compiler::front::config::EnvConfig;
use crate::compiler::manifests::dotenv::{self, Difference};
use crate::compiler::paths;
use crate::compiler::server::setup as server;
use crate::error::Error;
use crate::project;
use crate::up::Session;

/// The default name of the file.
const NAME: &str = "compose.yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli compose compose.yaml           write it, and print the command that starts it
  agentcli compose -                      print it
  agentcli compose --check compose.yaml   fail if it is not up to date")]
pub(crate) struct Compose {
    #[command(flatten)]
    setup: SetupArguments,

    #[command(flatten)]
    save: SaveOptions,
}

impl Compose {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let save_path = self.save.path(env, NAME)?;
        let Prepared { session, planned, request } =
            self.setup.prepare(env, agent_lock::ByDefault::Never, false, None)?;
        let is_stdout = save_path.is_none();
        let save_path = save_path.unwrap_or_else(|| NAME.into());
        self.warn(env, &planned, request.postgres_uri.is_some());
        request.open_ports().iter().for_each(|message| note(env, message));
        let artifacts = self.artifacts(env, &planned, &session, &save_path)?;
        if is_stdout {
            self.note_dockerfile(env, &save_path);
            return Ok(env.out.write(&artifacts[0].text)?);
        }
        let others = "options, manifests or the layout of the project";
        let next = format!("docker compose -f {} up --wait", shell_word(&project::with_slashes(&save_path)));
        self.save.save(env, &planned, &artifacts, others, &next)
    }

    /// The compose file, and the Dockerfile unless an image is given.
    fn artifacts(
        &self,
        env: &Env,
        planned: &Planned,
        session: &Session,
        save_path: &Path,
    ) -> Result<Vec<Artifact>, Error> {
        let dockerfile = dockerfile_beside(save_path);
        let form = self.form(env, planned, session, &dockerfile);
        let text = compose::compose(&planned.plan, &session.setup, &form);
        let mut artifacts = vec![Artifact::new(save_path.to_owned(), text)];
        if self.setup.image.is_none() {
            artifacts.extend(dockerfile_command::artifacts(env, planned, &dockerfile)?);
        }
        Ok(artifacts)
    }

    fn form(&self, env: &Env, planned: &Planned, session: &Session, dockerfile: &Path) -> Form {
        let place = env.directory.join(directory_of(dockerfile));
        let context = env.directory.join(&planned.context);
        let project = directory_of(&env.directory.join(&planned.project.path));
        let name = dockerfile.file_name().unwrap_or_default().to_string_lossy();
        let env_file = planned.plan.env.file.as_deref();
        Form {
            is_named: self.setup.project.project_name.is_some(),
            build: self.setup.image.is_none().then(|| Build {
                context: relative_path(project::relative(&place, &context)),
                dockerfile: relative_path(paths::join(&project::relative(&context, &place), &name)),
            }),
            env_file: env_file
                .map(|path| relative_path(paths::join(&project::relative(&place, &project), path))),
            addresses: session.addresses.clone(),
            ..Form::default()
        }
    }

    fn warn(&self, env: &mut Env, planned: &Planned, has_database: bool) {
        Self::warn_of_differences(env, planned);
        if matches!(&planned.config.env, Some(EnvConfig::Map(values)) if !values.is_empty()) {
            let name = &planned.plan.config.name;
            let text = format!(
                "the compose file contains the values of `env` from {name}; a .env file keeps secrets out of both"
            );
            warn(env, &text);
        }
        if has_database {
            let name = server::OWN_DATABASE;
            let text = format!(
                "the compose file does not contain the address of the database; set {name} when you run it"
            );
            note(env, &text);
        }
    }

    /// Compose parses the file of `env` itself, in its own dialect.
    fn warn_of_differences(env: &mut Env, planned: &Planned) {
        let Some(path) = planned.plan.env.file.as_deref() else { return };
        let text = planned.project.files.read(path).unwrap_or_default();
        for Difference { line, why } in dotenv::differences(&text) {
            let text = format!("{path}:{line} differs from `up` and `dev`: compose {why}");
            warn(env, &text);
        }
    }

    fn note_dockerfile(&self, env: &mut Env, save_path: &Path) {
        if self.setup.image.is_none() {
            let name = dockerfile_beside(save_path).to_string_lossy().into_owned();
            let text = format!("the image is built by `{name}`; write it with `agentcli dockerfile {name}`");
            note(env, &text);
        }
    }
}

/// `compose.Dockerfile` for `compose.yaml`.
fn dockerfile_beside(save_path: &Path) -> PathBuf {
    let is_yaml = save_path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let stem = if is_yaml { save_path.file_stem() } else { save_path.file_name() };
    let mut name = stem.unwrap_or_default().to_owned();
    name.push(".Dockerfile");
    save_path.with_file_name(name)
}

/// A relative path that cannot be mistaken for a URL or a home directory.
fn relative_path(path: String) -> String {
    if path.starts_with(['.', '/']) { path } else { format!("./{path}") }
}
