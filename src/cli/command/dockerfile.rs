//! `agentcli dockerfile`

use std::path::Path;

use crate::cli::agent_lock;
use crate::cli::artifact::{Artifact, SaveOptions};
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::console::warn;
use crate::cli::env::Env;
use crate::compiler::back::emit::dockerfile;
use crate::compiler::back::emit::heading::MARK;
use crate::compiler::words::listed;
use crate::error::Error;
use crate::project;

#[derive(Debug, clap::Args)]
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
            return Ok(env.out.write(&dockerfile::dockerfile(&planned.plan))?);
        };
        let artifacts = artifacts(&planned, &save_path);
        let others = "options, manifests or the layout of the project";
        self.save.save(env, &planned, &artifacts, others, &build_line(&planned, &save_path))
    }
}

/// The Dockerfile and what selects what its build sees.
pub(super) fn artifacts(planned: &Planned, save_path: &Path) -> [Artifact; 2] {
    let mut ignore = save_path.as_os_str().to_owned();
    ignore.push(".dockerignore");
    [
        Artifact { path: save_path.to_owned(), text: dockerfile::dockerfile(&planned.plan) },
        Artifact { path: ignore.into(), text: dockerfile::dockerignore(&planned.plan) },
    ]
}

/// The command that builds what was written. BuildKit is asked for, since Docker before 23 has it off, except on
/// Windows, whose shells have no such assignments.
fn build_line(planned: &Planned, save_path: &Path) -> String {
    let word = |path: &Path| dockerfile::shell_word(&project::with_slashes(path));
    let builder = if cfg!(windows) { "" } else { "DOCKER_BUILDKIT=1 " };
    format!("{builder}docker build -f {} -t agent {}", word(save_path), word(&planned.context))
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
