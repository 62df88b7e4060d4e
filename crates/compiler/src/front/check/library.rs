//! The version of the graph library of a JavaScript project: does a server work with it?

use super::manifests::project;
use super::{Context, written};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::front::config::Variant;
use crate::manifests::package_version;
use crate::server::local::{LIBRARY, OLDEST_LIBRARY_IN_IMAGE, javascript_server};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&LIBRARY_OLDER_THAN_SERVER];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    // Another image or version may have a server that works with the library.
    if config.variant() != Variant::Javascript || !config.has_newest_server() {
        return;
    }
    let Some(Ok(installation)) = context.installation() else { return };
    let Some(newest) = package_version::newest(LIBRARY, &installation, context.files) else { return };
    if newest.version >= OLDEST_LIBRARY_IN_IMAGE {
        return;
    }
    let (major, minor, patch) = OLDEST_LIBRARY_IN_IMAGE;
    let message = format!(
        "`{LIBRARY}` is {} in `{}`, and the server needs {major}.{minor}.{patch} or later",
        newest.text,
        written(&newest.file),
    );
    let older = javascript_server(Some(newest.version));
    let meanwhile = if newest.version >= older.oldest {
        format!("; until then, `dev` runs the older server {}", older.packages[0].1)
    } else {
        String::new()
    };
    let help = format!("update `{LIBRARY}`, or choose an older image with `api_version`{meanwhile}");
    context.report(Diagnostic::new(&LIBRARY_OLDER_THAN_SERVER, project(context), message).help(help));
}

static LIBRARY_OLDER_THAN_SERVER: Rule = rule!("library-older-than-server");
