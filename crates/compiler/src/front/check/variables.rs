//! Variables of `env` that do not do what they are meant to.

use std::mem;

use super::{Context, image};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related, Rule, rule};
use crate::files::Files;
use crate::front::config::EnvConfig;
use crate::front::keys;
use crate::manifests::dotenv::{self, Definition};
use crate::paths;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&SECTION_VARIABLE];

/// A variable of `env`.
pub(super) struct Variable {
    pub(super) name: String,
    /// The value; absent if it depends on the environment.
    value: Option<String>,
    /// The place in the .env file; absent if the variable is in the configuration itself.
    definition: Option<Related>,
}

pub(super) fn check(context: &mut Context<'_>) {
    for variable in context.variables().iter() {
        let file =
            variable.definition.as_ref().map(|related| format!(" in `{}`", super::written(&related.path)));
        let message = format!("`{}`{}", variable.name, file.unwrap_or_default());
        if let Some((section, _)) = keys::handed_over().find(|(_, name)| *name == variable.name) {
            let message = format!("{message} overrides the section `{section}` of the image");
            let help = format!("remove it, and write the section `{section}` instead");
            let diagnostic = Diagnostic::new(&SECTION_VARIABLE, variable.place(), message).help(help);
            context.report(variable.locate(diagnostic));
        }
        if variable.value.as_deref().and_then(image::outer_directory).is_some() {
            let message = format!("{message} has a path that images of this tool do not have");
            let diagnostic = Diagnostic::new(&image::OUTER_DIRECTORY, variable.place(), message);
            context.report(variable.locate(diagnostic.help(image::own_directory())));
        }
    }
}

impl Variable {
    /// The key of the variable, or the path of the .env file.
    pub(super) fn place(&self) -> Place {
        let env = Pointer::parse("/env");
        match self.definition {
            Some(_) => Place::Value(env),
            None => Place::Key(env.join(&self.name)),
        }
    }

    /// Adds the place in the .env file.
    pub(super) fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        match &self.definition {
            Some(related) => diagnostic.related(related.clone()),
            None => diagnostic,
        }
    }
}

/// Reads the variables of `env`.
pub(super) fn read(context: &Context<'_>) -> Vec<Variable> {
    match &context.config.env {
        Some(EnvConfig::Map(variables)) => {
            let variable = |(name, value): (&String, &String)| Variable {
                name: name.clone(),
                value: Some(value.clone()),
                definition: None,
            };
            variables.iter().map(variable).collect()
        }
        Some(EnvConfig::File(path)) => {
            let path = paths::normalize(path);
            let Some(text) = context.files.text(&path) else { return Vec::new() };
            let mut found = dotenv::parse(&text, |_| Some(UNKNOWN.to_owned()));
            let variable = |(name, value): (String, Option<String>)| {
                let definition = found.definitions.swap_remove(&name).unwrap_or_default();
                let value = value.filter(|value| !value.contains(UNKNOWN));
                Variable { definition: Some(related(&path, definition)), name, value }
            };
            mem::take(&mut found.variables).into_iter().map(variable).collect()
        }
        None => Vec::new(),
    }
}

/// A line of a .env file, without the value.
fn related(path: &str, Definition { line, start }: Definition) -> Related {
    let range = 0..start.len();
    Related { path: path.to_owned(), line, text: start + "=***", range, label: "defined here".to_owned() }
}

/// Stands for a value of the environment; no variable can contain it.
const UNKNOWN: &str = "\0";

static SECTION_VARIABLE: Rule = rule!("section-variable");
