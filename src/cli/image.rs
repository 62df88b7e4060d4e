//! Building the image of a planned project.

use super::compile::Planned;
use super::console::{visible_line, warn};
use super::env::Env;
use super::progress::size;
use crate::compiler::back::emit::dockerfile;
use crate::compiler::back::plan::{Action, Plan, Step};
use crate::compiler::front::document;
use crate::compiler::front::source::Source;
use crate::compiler::manifests::dockerignore::Ignore;
use crate::compiler::paths;
use crate::context::Context;
use crate::diagnostic::{Place, Pointer};
use crate::engine::{self, BuildEvent, BuildRequest, Settings, StepOrigin};
use crate::error::Error;

/// Path of the Dockerfile in the build context. The engine reads it there, so it is in the image, too.
const DOCKERFILE: &str = ".agentcli/Dockerfile";

/// Size of a build context that is probably a mistake, in bytes.
const LARGE: u64 = 100_000_000;

/// The request to build the image of `planned`, without names and options. The build context is the user's tree without the
/// files that the plan and `ignore` leave out, the Dockerfile, and configurations without the values of `env`.
///
/// # Errors
///
/// A bug: the patterns are checked before.
pub fn request(env: &Env, planned: &Planned, ignore: &[&str]) -> Result<BuildRequest, Error> {
    let plan = &planned.plan;
    let patterns = plan.context.ignore.iter().map(String::as_str).chain(ignore.iter().copied());
    let ignore = Ignore::parse(&patterns.collect::<Vec<_>>().join("\n"))
        .map_err(|error| Error::Internal(format!("the ignore rules are checked before: {error}")))?;
    Ok(BuildRequest {
        context: Context {
            root: env.directory.join(&planned.context),
            ignore,
            extra: vec![(DOCKERFILE.to_owned(), dockerfile::dockerfile(plan).into_bytes())],
            configurations: plan.context.withheld.clone(),
        },
        dockerfile: DOCKERFILE.to_owned(),
        tags: Vec::new(),
        platform: None,
        pull: false,
        no_cache: false,
        images: vec![plan.server.image.clone()],
        images_known: !plan.has_lines_from_outside(),
        steps: plan.steps.iter().flat_map(origins).collect(),
        settings: Settings::default(),
    })
}

/// The path of the configuration in the build context.
pub fn configuration_path(plan: &Plan) -> String {
    paths::normalize(&format!("{}/{}", plan.context.project, plan.config.name))
}

/// A platform in the form `os/arch` or `os/arch/variant`.
///
/// # Errors
///
/// It is of another form.
pub fn platform(text: &str) -> Result<String, Error> {
    let platform = text.trim();
    let parts: Vec<&str> = platform.split('/').collect();
    let is_word =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if (2..=3).contains(&parts.len()) && parts.iter().all(is_word) {
        return Ok(platform.to_owned());
    }
    let hint = "write it as os/arch, such as linux/amd64 or linux/arm64";
    Err(Error::usage(format!("`{platform}` is not a platform"), hint))
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

/// Warns about a build context that is probably larger than intended.
pub fn warn_if_large(env: &mut Env, event: &BuildEvent) {
    let BuildEvent::Context { bytes, largest, .. } = event else { return };
    if *bytes < LARGE {
        return;
    }
    let paths: Vec<String> =
        largest.iter().map(|(path, bytes)| format!("`{}` ({})", path.display(), size(*bytes))).collect();
    let text = format!(
        "the build context is large ({}), mostly because of {}; exclude what the image does not need with \
         .dockerignore",
        size(*bytes),
        paths.join(", ")
    );
    warn(env, &text);
}

/// Explains a failed build: prints the configuration key that caused the failed step, with `--verbose` the whole step, and
/// the last lines of its output.
pub fn explain(env: &mut Env, error: &engine::Error, source: &Source) {
    if let engine::Error::Step(failed) = error {
        if let Some(key) = &failed.step.key {
            env.print(&format!("  caused by {}", place(source, key)));
        }
        if env.verbose {
            env.print(&format!("  {}", visible_line(&failed.step.name)));
        }
        for line in &failed.last_lines {
            env.print(&format!("  | {}", visible_line(line)));
        }
    }
}

/// `agent.json:3:5 (/dependencies)`
fn place(source: &Source, key: &str) -> String {
    let (document, _) = document::parse(&source.text);
    let position = source.position(document.span(&Place::Key(Pointer::parse(key))).start);
    format!("{}:{}:{} ({key})", visible_line(&source.name), position.line, position.column)
}
