//! `agentcli build`

use std::ffi::OsString;

use serde_json::json;

use super::dockerfile::warn_if_stale;
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::console::{WARNING, paint, visible_line};
use crate::cli::env::Env;
use crate::cli::interrupt::interrupted;
use crate::cli::progress::{Progress, Style, size};
use crate::compiler::document;
use crate::compiler::emit::dockerfile;
use crate::compiler::ignore::Ignore;
use crate::compiler::plan::{Action, Step};
use crate::compiler::source::Source;
use crate::context::Context;
use crate::diagnostic::{Place, Pointer};
use crate::engine::{self, BuildEvent, BuildRequest, Built, Engine, EngineEnv, StepOrigin};
use crate::error::Error;

/// Where the Dockerfile lies in the context that is sent. The engine takes it from there, so the image has it too.
const DOCKERFILE: &str = ".agentcli/Dockerfile";

/// A context larger than this is probably not meant, in bytes.
const LARGE: u64 = 100_000_000;

/// Build the image of the server
///
/// The image's id and names go to stdout. An edit of the source builds anew only its last layer.
///
/// With --no-pull, nothing is built where the image is up to date: it still has its names, and it was made on this machine
/// from the same files, Dockerfile, platform and base image. --no-cache builds it all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli build -t my-agent                       build ./agent.json
  agentcli build -t my-agent:1 -t my-agent:latest  with two names
  agentcli build -t my-agent --no-pull             with the base image that is here")]
pub(crate) struct Build {
    /// Name of the image, as NAME or NAME:TAG; may be repeated
    #[arg(short, long = "tag", value_name = "TAG", required = true)]
    tags: Vec<String>,

    /// Platforms to build for, separated by commas; each of several gets a name of its own, TAG-OS-ARCH
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<String>,

    /// Ask the registry for a newer base image (the default)
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use the base image that is here
    #[arg(long)]
    no_pull: bool,

    /// Build every step anew, even if the image is up to date
    #[arg(long)]
    no_cache: bool,

    #[command(flatten)]
    options: PlanOptions,

    /// How progress is shown
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    progress: Style,
}

/// One image to build.
struct Target {
    platform: Option<String>,
    tags: Vec<String>,
}

impl Build {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.options.plan(env)?;
        let dockerfile = dockerfile::dockerfile(&planned.plan);
        warn_if_stale(env, &planned, &dockerfile);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let lookup = |name: &str| (env.variables)(name).map(OsString::from);
        let engine = runtime.block_on(Engine::connect(&EngineEnv::new(lookup)))?;
        for target in self.targets()? {
            let request = self.request(env, &planned, &dockerfile, target)?;
            let mut progress = Progress::new(self.progress, env);
            let built = runtime.block_on(engine.build(
                request,
                |event| {
                    progress.show(env, &event);
                    warn_if_large(env, &event);
                },
                interrupted(),
            ));
            let is_json = progress.is_json();
            progress.end();
            match built {
                Ok(built) => say_built(env, &built, is_json)?,
                Err(error) => return Err(explained(env, error, &planned)),
            }
        }
        Ok(())
    }

    fn request(
        &self,
        env: &Env,
        planned: &Planned,
        dockerfile: &str,
        target: Target,
    ) -> Result<BuildRequest, Error> {
        let plan = &planned.plan;
        let lines = plan.context.ignore.join("\n");
        let ignore = Ignore::parse(&lines)
            .map_err(|error| Error::Internal(format!("the ignore rules are checked before: {error}")))?;
        let extra = vec![(DOCKERFILE.to_owned(), dockerfile.as_bytes().to_vec())];
        Ok(BuildRequest {
            context: Context { root: env.directory.join(&planned.context), ignore, extra },
            dockerfile: DOCKERFILE.to_owned(),
            tags: target.tags,
            platform: target.platform,
            pull: !self.no_pull,
            no_cache: self.no_cache,
            images: vec![plan.server.image.clone()],
            images_known: !plan.has_lines_from_outside(),
            steps: plan.steps.iter().flat_map(origins).collect(),
        })
    }

    /// Each platform with the names that its image gets: a name holds one platform.
    fn targets(&self) -> Result<Vec<Target>, Error> {
        let tags = self.tags.clone();
        match self.platform.as_slice() {
            [] => Ok(vec![Target { platform: None, tags }]),
            [platform] => Ok(vec![Target { platform: Some(checked(platform)?), tags }]),
            several => several.iter().map(|platform| self.one_of_several(platform)).collect(),
        }
    }

    fn one_of_several(&self, platform: &str) -> Result<Target, Error> {
        let platform = checked(platform)?;
        let suffix = platform.replace('/', "-");
        let tag =
            |tag: &String| match tag.rsplit_once('/').map_or(tag.as_str(), |(_, name)| name).contains(':') {
                true => format!("{tag}-{suffix}"),
                false => format!("{tag}:{suffix}"),
            };
        let tags = self.tags.iter().map(tag).collect();
        Ok(Target { platform: Some(platform), tags })
    }
}

/// A platform in the form `os/arch` or `os/arch/variant`.
fn checked(platform: &str) -> Result<String, Error> {
    let platform = platform.trim();
    let parts: Vec<&str> = platform.split('/').collect();
    let is_word =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if (2..=3).contains(&parts.len()) && parts.iter().all(is_word) {
        return Ok(platform.to_owned());
    }
    Err(Error::Usage {
        message: format!("`{platform}` is not a platform"),
        hint: Some("write it as os/arch, such as linux/amd64 or linux/arm64".to_owned()),
    })
}

/// The instructions of a step, with where they come from.
fn origins(step: &Step) -> Vec<StepOrigin> {
    let instructions = match &step.action {
        Action::Lines { lines } => lines.clone(),
        _ => vec![dockerfile::instruction(step)],
    };
    let origin = |instruction| StepOrigin { instruction, key: Some(step.key.clone()) };
    instructions.into_iter().map(origin).collect()
}

fn warn_if_large(env: &mut Env, event: &BuildEvent) {
    let BuildEvent::Context { bytes, largest, .. } = event else { return };
    if *bytes < LARGE {
        return;
    }
    let paths: Vec<String> =
        largest.iter().map(|(path, bytes)| format!("`{}` ({})", path.display(), size(*bytes))).collect();
    let text = format!(
        "the build context is large, {}; most of it is {}; what the image does not need can be left out with \
         .dockerignore",
        size(*bytes),
        paths.join(", ")
    );
    env.tell(&format!("{}: {}", paint(&env.err, WARNING, "warning"), visible_line(&text)));
}

fn say_built(env: &mut Env, built: &Built, is_json: bool) -> Result<(), Error> {
    let line = match is_json {
        true => json!({ "event": "built", "id": built.id, "tags": built.tags }).to_string(),
        false => format!("{} {}", built.id, built.tags.join(" ")),
    };
    Ok(env.out.write(&format!("{line}\n"))?)
}

/// Says what led to `error`: the last lines of the step that failed, and what in the configuration asked for it.
fn explained(env: &mut Env, error: engine::Error, planned: &Planned) -> Error {
    if let engine::Error::Step(failed) = &error {
        for line in &failed.last_lines {
            env.tell(&format!("  | {}", visible_line(line)));
        }
        if let Some(key) = &failed.step.key {
            env.tell(&format!("  asked for by {}", place(&planned.project.source, key)));
        }
    }
    error.into()
}

/// `agent.json:3:5 (/dependencies)`
fn place(source: &Source, key: &str) -> String {
    let (document, _) = document::parse(&source.text);
    let position = source.position(document.span(&Place::Key(Pointer::parse(key))).start);
    format!("{}:{}:{} ({key})", visible_line(&source.name), position.line, position.column)
}
