//! `pip_config_file`: whether it is read.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&UV_IGNORES_PIP_CONFIG];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    if config.pip_config_file.is_some() && config.pip_installer.as_deref() == Some("uv") {
        let place = Place::Value(Pointer::parse("/pip_installer"));
        context.report(
            Diagnostic::new(&UV_IGNORES_PIP_CONFIG, place, "uv does not read `pip_config_file`")
                .help(r#"write `"pip_installer": "pip"` or leave it out, or remove `pip_config_file`"#),
        );
    }
}

static UV_IGNORES_PIP_CONFIG: Rule = Rule {
    code: "uv-ignores-pip-config",
    severity: Severity::Warning,
    summary: "`pip_config_file` has no effect with uv",
    why: "uv does not read pip configuration files, so with `pip_installer` set to `uv` packages would come from the public \
          index.",
    wrong: r#"{ "pip_installer": "uv", "pip_config_file": "./pip.conf" }"#,
    right: r#"{ "pip_config_file": "./pip.conf" }"#,
};
