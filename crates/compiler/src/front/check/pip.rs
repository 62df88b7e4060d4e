//! `pip_config_file`: whether it is read.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};

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

static UV_IGNORES_PIP_CONFIG: Rule = rule!("uv-ignores-pip-config");
