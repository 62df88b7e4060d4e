//! `pip_config_file`: whether the file exists and is read.

use super::{Context, locations, written};
use crate::compiler::files::Files;
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&PIP_CONFIG_NOT_FOUND, &UV_IGNORES_PIP_CONFIG];

pub(super) fn check(context: &mut Context<'_>) {
    let Some(text) = context.config.pip_config_file.as_deref() else { return };
    let path = paths::normalize(text);
    if locations::is_usable(context, text) && !context.files.is_file(&path) {
        let message = match context.files.is_directory(&path) {
            true => format!("`{}` is a directory, not a file", written(&path)),
            false => format!("there is no file `{}`", written(&path)),
        };
        let place = Place::Value(Pointer::parse("/pip_config_file"));
        context.report(
            Diagnostic::new(&PIP_CONFIG_NOT_FOUND, place, message)
                .help("write a path relative to the directory of the configuration, or leave the key out"),
        );
    }
    if context.config.pip_installer.as_deref() == Some("uv") {
        let place = Place::Value(Pointer::parse("/pip_installer"));
        context.report(
            Diagnostic::new(&UV_IGNORES_PIP_CONFIG, place, "uv does not read `pip_config_file`")
                .help(r#"write `"pip_installer": "pip"` or leave it out, or remove `pip_config_file`"#),
        );
    }
}

static PIP_CONFIG_NOT_FOUND: Rule = Rule {
    code: "pip-config-not-found",
    severity: Severity::Error,
    summary: "the file of `pip_config_file` does not exist",
    why: "The build reads this file, usually for the address of a private index. Without it, the build would fail or install \
          packages from another index.",
    wrong: r#"{ "pip_config_file": "./pip.cnof" }"#,
    right: r#"{ "pip_config_file": "./pip.conf" }"#,
};

static UV_IGNORES_PIP_CONFIG: Rule = Rule {
    code: "uv-ignores-pip-config",
    severity: Severity::Warning,
    summary: "`pip_config_file` has no effect with uv",
    why: "uv does not read pip configuration files, so with `pip_installer` set to `uv` packages would come from the public \
          index.",
    wrong: r#"{ "pip_installer": "uv", "pip_config_file": "./pip.conf" }"#,
    right: r#"{ "pip_config_file": "./pip.conf" }"#,
};
