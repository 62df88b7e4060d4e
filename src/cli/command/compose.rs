//! `agentcli compose`

use std::path::{Path, PathBuf};

use super::dockerfile as dockerfile_command;
use crate::cli::agent_lock;
use crate::cli::artifact::{Artifact, SaveOptions};
use crate::cli::build_options::in_long_help;
use crate::cli::compile::{Planned, directory_of};
use crate::cli::console::{note, warn};
use crate::cli::env::Env;
use crate::cli::setup::{Prepared, SetupArguments};
use crate::compiler::back::emit::compose::{self, Build, Form};
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::front::config::EnvConfig;
use crate::compiler::paths;
use crate::compiler::server::setup as server;
use crate::error::Error;
use crate::project;
use crate::up::Session;

/// The default name of the file.
const NAME: &str = "compose.yaml";

/// The names of files that compose finds itself.
const NAMES: &[&str] = &[NAME, "compose.yml", "docker-compose.yaml", "docker-compose.yml"];

#[derive(Debug, clap::Args)]
#[command(mut_args(in_long_help))]
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
        let next = format!("{} up --wait", program(&save_path));
        self.save.save(env, &planned, &artifacts, &next)
    }

    /// The compose file, and the Dockerfile unless an image is given.
    fn artifacts(
        &self,
        env: &Env,
        planned: &Planned,
        session: &Session,
        save_path: &Path,
    ) -> Result<Vec<Artifact>, Error> {
        let form = self.form(env, planned, session, save_path);
        let text = compose::compose(&planned.plan, &session.setup, &form);
        let file = Artifact { has_values: has_values(planned), ..Artifact::new(save_path.to_owned(), text) };
        let mut artifacts = vec![file];
        if self.setup.image.is_none() {
            artifacts.extend(dockerfile_command::artifacts(env, planned, &dockerfile_beside(save_path))?);
        }
        Ok(artifacts)
    }

    fn form(&self, env: &Env, planned: &Planned, session: &Session, save_path: &Path) -> Form {
        let dockerfile = dockerfile_beside(save_path);
        let place = env.directory.join(directory_of(&dockerfile));
        let context = env.directory.join(&planned.context);
        let project = directory_of(&env.directory.join(&planned.project.path));
        let name = dockerfile.file_name().unwrap_or_default().to_string_lossy();
        let env_file = planned.plan.env.file.as_deref();
        // In the directory of the file, wherever it was written from.
        let program = program(Path::new(save_path.file_name().unwrap_or_default()));
        Form {
            remark: format!(". Start: {program} up --wait. Stop: {program} down."),
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
        if has_values(planned) {
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

    fn note_dockerfile(&self, env: &mut Env, save_path: &Path) {
        if self.setup.image.is_none() {
            let name = dockerfile_beside(save_path).to_string_lossy().into_owned();
            let text = format!("the image is built by `{name}`; write it with `agentcli dockerfile {name}`");
            note(env, &text);
        }
    }
}

/// Whether the compose file has values of `env`.
fn has_values(planned: &Planned) -> bool {
    matches!(&planned.config.env, Some(EnvConfig::Map(values)) if !values.is_empty())
}

/// `docker compose`, with the file unless it finds the file itself.
fn program(save_path: &Path) -> String {
    match save_path.to_str() {
        Some(path) if NAMES.contains(&path) => "docker compose".to_owned(),
        _ => format!("docker compose -f {}", shell_word(&project::with_slashes(save_path))),
    }
}

/// `Dockerfile` for a file that compose finds itself, `deploy.Dockerfile` for `deploy.yaml`.
fn dockerfile_beside(save_path: &Path) -> PathBuf {
    let name = save_path.file_name().unwrap_or_default();
    if NAMES.iter().any(|known| name == *known) {
        return save_path.with_file_name("Dockerfile");
    }
    let is_yaml = save_path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let mut name = if is_yaml { save_path.file_stem() } else { Some(name) }.unwrap_or_default().to_owned();
    name.push(".Dockerfile");
    save_path.with_file_name(name)
}

/// A relative path that cannot be mistaken for a URL or a home directory.
fn relative_path(path: String) -> String {
    if path.starts_with(['.', '/']) { path } else { format!("./{path}") }
}
