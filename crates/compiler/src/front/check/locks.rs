//! Lock files beside the manifests of local dependencies: are they used?

use super::{Context, credentials, entry, written};
use crate::diagnostic::{Diagnostic, Place, Rule, rule};
use crate::front::base_image;
use crate::front::config::{Config, Variant};
use crate::front::workspace::{self, Unused};
use crate::manifests;
use crate::paths;
use crate::secrecy::urls;
use crate::server::DEFAULT_PYTHON;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&UNUSED_LOCK];

pub(super) fn check(context: &mut Context<'_>) {
    if context.config.source.is_some() || context.variant == Variant::Javascript {
        return;
    }
    for local in context.directories() {
        let Some(format) = workspace::lock_beside(&local, context.files) else { continue };
        let path = paths::join(&local.path, format.name);
        let place = Place::Value(entry(local.index));
        let text = manifests::text(&path, context.files).and_then(Result::ok).unwrap_or_default();
        if let Some(secret) = urls::userinfo(&text).into_iter().next() {
            let help =
                format!("revoke it, remove it from the pyproject.toml, and run `{}` again", format.update);
            context.report(credentials::in_file(place, &path, &urls::masked(&text), secret).help(help));
            continue;
        }
        let unused = match workspace::beside(&local, context.config, context.files) {
            Some(found) => found.err(),
            None => unknown_python(context.config),
        };
        if let Some(Unused { why, help }) = unused {
            let message = format!("`{}` is not used: {why}", written(&path));
            let update = || format!("run `{}` in `{}`", format.update, written(&local.path));
            let help = help.unwrap_or_else(update);
            context.report(Diagnostic::new(&UNUSED_LOCK, place, message).help(help));
        }
    }
}

/// Why no lock file is used with a base image whose tag does not name its Python.
fn unknown_python(config: &Config) -> Option<Unused> {
    if config.base_image.is_none() || base_image::python(config).is_some() {
        return None;
    }
    let why = "the Python version of `base_image` is not known".to_owned();
    let help = format!("name it in the tag, as in `registry.example/server:1.0-py{DEFAULT_PYTHON}`");
    Some(Unused { why, help: Some(help) })
}

static UNUSED_LOCK: Rule = rule!("unused-lock");
