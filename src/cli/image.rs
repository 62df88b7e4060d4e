//! Building the image of a planned project.

use super::compile::Planned;
use super::console::{visible_line, warn};
use super::env::Env;
use super::progress::size;
use crate::compiler::agent_lock::NAME;
use crate::compiler::back::plan::Plan;
use crate::compiler::front::document;
use crate::compiler::front::source::Source;
use crate::compiler::paths;
use crate::diagnostic::{Place, Pointer};
use crate::engine::{self, BuildEvent, BuildRequest};
use crate::error::Error;

/// Size of a build context that is probably a mistake, in bytes.
const LARGE: u64 = 100_000_000;

/// The request to build the image of `planned`, without names and options.
///
/// # Errors
///
/// A bug: the patterns are checked before.
pub fn request(env: &Env, planned: &Planned) -> Result<BuildRequest, Error> {
    let root = env.directory.join(&planned.context);
    BuildRequest::of_plan(&planned.plan, root).map_err(Error::Internal)
}

/// The path of the configuration in the build context.
pub fn configuration_path(plan: &Plan) -> String {
    in_context(plan, &plan.config.name)
}

/// The path of agent.lock in the build context.
pub fn lock_path(plan: &Plan) -> String {
    in_context(plan, NAME)
}

/// The path in the build context of the file `name` in the configuration's directory.
fn in_context(plan: &Plan, name: &str) -> String {
    paths::join(&plan.context.project, name)
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
