//! Files that a build of the project makes, such as `./dist/agent.js`.

use crate::diagnostic::{Rule, rule};
use crate::front::check::Context;
use crate::front::config::Variant;
use crate::manifests::installation::Installation;
use crate::manifests::package_json;

/// Endings of compiled files.
const COMPILED: &[&str] = &[".js", ".mjs", ".cjs"];

/// Whether a build command can make the file at `path`. Only the JavaScript server's image has one.
pub(in crate::front::check) fn may_be_built(context: &Context<'_>, path: &str) -> bool {
    context.variant == Variant::Javascript && COMPILED.iter().any(|ending| path.ends_with(ending))
}

/// How to build a file that is not there.
pub(in crate::front::check) fn help(context: &Context<'_>) -> String {
    let installation = context.installation().and_then(Result::ok);
    let has_script = |installation: &Installation| {
        let manifest = package_json::find(&installation.home, context.files).and_then(Result::ok);
        // The command runs in the directory of the configuration.
        installation.home == "." && manifest.is_some_and(|manifest| manifest.has_build_script())
    };
    match installation.filter(has_script) {
        Some(installation) => {
            let build = format!("{} run build", installation.manager.name);
            format!("run `{build}`; to build it in the image, pass `--build-command '{build}'`")
        }
        None => "correct the path, or pass the command that makes the file with `--build-command`".to_owned(),
    }
}

pub(in crate::front::check) static REFERENCE_NOT_BUILT: Rule = rule!("reference-not-built");
