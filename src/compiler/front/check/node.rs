//! `engines.node` of the project's packages: does the Node.js of the image fit it?

use nodejs_semver::Range;

use super::manifests::{project, quoted};
use super::{Context, written};
use crate::compiler::front::base_image;
use crate::compiler::manifests::{package_json, workspace};
use crate::compiler::paths;
use crate::compiler::server::OLDEST_NODE;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&UNTESTED_NODE];

/// How many major versions after the oldest one are suggested.
const MAJORS: u64 = 20;

pub(super) fn check(context: &mut Context<'_>) {
    // A base image has a Node.js of its own.
    if !context.config.has_javascript() || context.config.base_image.is_some() {
        return;
    }
    let Ok(major) = base_image::node(context.config).parse() else { return };
    let Some(Ok(own)) = package_json::find(".", context.files) else { return };
    let root = workspace::search(&own, context.files).ok().and_then(|search| search.found).map(|it| it.root);
    let directories = [Some(".".to_owned()), root.filter(|root| root != ".")];
    let found = directories.iter().flatten().find_map(|directory| check_package(context, directory, major));
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

fn check_package(context: &Context<'_>, directory: &str, major: u64) -> Option<Diagnostic> {
    let manifest = package_json::find(directory, context.files)?.ok()?;
    let written_range = manifest.node()?;
    let range = Range::parse(written_range).ok()?;
    if has(&range, major) {
        return None;
    }
    let path = paths::join(directory, package_json::NAME);
    let is_set = context.config.node_version.is_some();
    let place = if is_set { Place::Value(Pointer::parse("/node_version")) } else { project(context) };
    let selected = match is_set {
        true => format!("`node_version` selects Node.js {major}"),
        false => format!("the image has Node.js {major} by default"),
    };
    let message = format!("{selected}, but `{}` requires `{written_range}`", written(&path));
    // Odd versions have no long-term support, and no images.
    let other = (OLDEST_NODE..OLDEST_NODE + MAJORS).step_by(2).find(|major| has(&range, *major));
    let help = match other {
        Some(other) if is_set => format!("write `\"{other}\"`"),
        Some(other) => format!("add `\"node_version\": \"{other}\"`"),
        None => format!("change the range: the server needs Node.js {OLDEST_NODE} or later"),
    };
    let related = quoted(context, &path, written_range, format!("does not include {major}"));
    Some(Diagnostic::new(&UNTESTED_NODE, place, message).related(related).help(help))
}

/// Whether `range` has a version of this major one.
fn has(range: &Range, major: u64) -> bool {
    Range::parse(major.to_string()).is_ok_and(|all| all.allows_any(range))
}

static UNTESTED_NODE: Rule = Rule {
    code: "untested-node",
    severity: Severity::Warning,
    summary: "a package that does not support the image's Node.js",
    why: "The major version of Node.js in the image is not in the range of `engines.node` in the package.json of the \
          project, or of its workspace. npm, pnpm and bun install the packages all the same, unless `engine-strict` is \
          set; Yarn 1 refuses. The packages may need what an older Node.js lacks.",
    wrong: r#"{ "graphs": { "agent": "./for-node-22.ts:graph" }, "node_version": "20" }"#,
    right: r#"{ "graphs": { "agent": "./for-node-22.ts:graph" }, "node_version": "22" }"#,
};
