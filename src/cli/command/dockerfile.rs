//! `agentcli dockerfile`

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cli::agent_lock;
use crate::cli::artifact::{Artifact, SaveOptions};
use crate::cli::build_options::in_long_help;
use crate::cli::compile::{PlanOptions, Planned, directory_of};
use crate::cli::console::{note, warn};
use crate::cli::env::Env;
use crate::cli::setup::real_directory;
use crate::compiler::back::emit::dockerfile::{self, shell_word};
use crate::compiler::back::emit::heading::MARK;
use crate::compiler::paths;
use crate::compiler::server::files::{README, SUFFIX};
use crate::compiler::words::listed;
use crate::error::Error;
use crate::project;
use crate::ship::slug;

#[derive(Debug, clap::Args)]
#[command(mut_args(in_long_help))]
#[command(after_help = "\
Examples:
  agentcli dockerfile Dockerfile           write ./Dockerfile and print the command that builds it
  agentcli dockerfile -                    print it
  agentcli dockerfile --check Dockerfile   fail if the file is not what would be written now")]
pub(crate) struct Dockerfile {
    #[command(flatten)]
    options: PlanOptions,

    #[command(flatten)]
    save: SaveOptions,
}

impl Dockerfile {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let save_path = self.save.path(env, "Dockerfile")?;
        let planned = self.options.plan_image(env, agent_lock::ByDefault::Never)?;
        let Some(save_path) = save_path else {
            if !planned.plan.context.withheld.is_empty() {
                let name = listed(planned.plan.context.withheld.iter().map(String::as_str));
                let text = format!(
                    "a build of this Dockerfile copies {name} with the values of `env` into the image; exclude {name} in \
                     .dockerignore, or move the values to a .env file"
                );
                warn(env, &text);
            }
            let generated = planned.plan.generated_files();
            let directory = planned.plan.server.files.as_ref().map(|directory| format!("{directory}/"));
            let requirements = generated.first().map(|file| &file.path);
            if let Some(copied) = directory.as_ref().or(requirements) {
                let path = project::with_slashes(
                    &Path::new(&planned.project.source.name).with_file_name("Dockerfile"),
                );
                let text = format!(
                    "this Dockerfile copies `{copied}`; `agentcli dockerfile {}` writes both",
                    shell_word(&path)
                );
                note(env, &text);
            }
            return Ok(env.out.write(&dockerfile::dockerfile(&planned.plan))?);
        };
        let artifacts = artifacts(env, &planned, &save_path)?;
        let line = build_line(env, &planned, &save_path);
        self.save.save(env, &planned, &artifacts, &line)
    }
}

/// The Dockerfile, what selects what its build sees, and the files of a server that its image installs.
pub(super) fn artifacts(env: &Env, planned: &Planned, save_path: &Path) -> Result<Vec<Artifact>, Error> {
    let beside = |ending: &str| -> PathBuf {
        [save_path.as_os_str(), OsStr::new(ending)].into_iter().collect::<OsString>().into()
    };
    let mut plan = planned.plan.clone();
    plan.move_generated_files(&in_context(env, planned, save_path)?);
    let readme = beside(SUFFIX).join(README);
    let generated = plan.generated_files().into_iter().map(|file| Artifact {
        readme: file.ending.starts_with(SUFFIX).then(|| readme.clone()),
        ..Artifact::new(beside(&file.ending), file.text)
    });
    let mut artifacts = vec![
        Artifact::new(save_path.to_owned(), dockerfile::dockerfile(&plan)),
        Artifact::new(beside(".dockerignore"), dockerfile::dockerignore(&plan)),
    ];
    artifacts.extend(generated);
    Ok(artifacts)
}

/// A Dockerfile relative to the context.
fn in_context(env: &Env, planned: &Planned, dockerfile: &Path) -> Result<String, Error> {
    let context = env.directory.join(&planned.context);
    let parent = project::relative(&context, &env.directory.join(directory_of(dockerfile)));
    let path = paths::join(&parent, &dockerfile.file_name().unwrap_or_default().to_string_lossy());
    let generated = planned.plan.generated_files();
    if let Some(file) = generated.first()
        && paths::levels_up(&path) > 0
    {
        let shown = format!("{}{}", dockerfile.display(), file.ending);
        let message =
            format!("`{shown}`, which the Dockerfile copies, would be outside of the build context");
        let hint = format!("write the Dockerfile to `{}` or a directory in it", planned.context.display());
        return Err(Error::usage(message, hint));
    }
    Ok(path)
}

/// The command that builds what was written, with the name of the project's directory as the tag. BuildKit is asked for,
/// since Docker before 23 has it off, except on Windows, whose shells have no such assignments.
fn build_line(env: &Env, planned: &Planned, save_path: &Path) -> String {
    let word = |path: &Path| shell_word(&project::with_slashes(path));
    let builder = if cfg!(windows) { "" } else { "DOCKER_BUILDKIT=1 " };
    let directory = real_directory(&env.directory.join(&planned.project.path));
    let tag = slug(&directory.file_name().unwrap_or_default().to_string_lossy());
    format!("{builder}docker build -f {} -t {tag} {}", word(save_path), word(&planned.context))
}

/// Warns where a Dockerfile beside the configuration was generated, and is not `current` but for digests of agent.lock.
pub(super) fn warn_if_stale(env: &mut Env, planned: &Planned, current: &str) {
    let path = planned.project.path.with_file_name("Dockerfile");
    let text = project::regular_text(&env.directory.join(&path)).filter(|text| text.starts_with(MARK));
    if text.is_some_and(|text| without_digests(&text) != without_digests(current)) {
        let text = format!(
            "the generated Dockerfile beside {} is out of date; this build does not use it, but others may: run \
             `agentcli dockerfile` again",
            planned.plan.config.name
        );
        warn(env, &text);
    }
}

/// The Dockerfile without the digests of images.
fn without_digests(text: &str) -> String {
    let mut parts = text.split("@sha256:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}
