//! The version of the graph library of JavaScript graphs: does the build of an image take it?

use super::manifests::project;
use super::{Context, written};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::front::config::Variant;
use crate::manifests::package_version;
use crate::server::local::{LIBRARY, OLDEST_LIBRARY_OF_BUILD, javascript_server};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&LIBRARY_OLDER_THAN_SERVER];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    // Another image or version may have a server that works with the library.
    if context.variant == Variant::Python || !config.has_newest_server() {
        return;
    }
    let Some(Ok(installation)) = context.installation() else { return };
    let Some(newest) = package_version::newest(LIBRARY, &installation, context.files) else { return };
    if newest.version >= OLDEST_LIBRARY_OF_BUILD {
        return;
    }
    let (major, minor, patch) = OLDEST_LIBRARY_OF_BUILD;
    let oldest = format!("{major}.{minor}.{patch}");
    let message = format!(
        "the build of the image ends with an error: `{LIBRARY}` is {} in `{}`, and the server needs {oldest} or later",
        newest.text,
        written(&newest.file),
    );
    let older = javascript_server(Some(newest.version));
    let meanwhile = if context.variant == Variant::Javascript && newest.version >= older.oldest {
        format!("; `dev` runs the server {}, which works with it", older.version())
    } else {
        String::new()
    };
    let help = format!(
        "update `{LIBRARY}` to {oldest} or later, or choose an older image with `api_version`{meanwhile}"
    );
    context.report(Diagnostic::new(&LIBRARY_OLDER_THAN_SERVER, project(context), message).help(help));
}

static LIBRARY_OLDER_THAN_SERVER: Rule = rule!("library-older-than-server");
