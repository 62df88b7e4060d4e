//! The values of `env`: read here, at the edge, where a server is started, and handed on without being shown.

use super::console::{WARNING, paint, visible_line};
use super::env::Env;
use crate::compiler::config::{Config, EnvConfig};
use crate::compiler::files::Files;
use crate::compiler::{dotenv, paths};
use crate::project::Project;

/// Variables with their values, in the order of the file or of the configuration; without a value, the variable is
/// taken out of the environment. Lines of a file that cannot be read are told on stderr.
pub(super) fn values(env: &mut Env, project: &Project, config: &Config) -> Vec<(String, Option<String>)> {
    match &config.env {
        None => Vec::new(),
        Some(EnvConfig::Map(values)) => {
            values.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
        }
        Some(EnvConfig::File(path)) => of_file(env, project, path),
    }
}

fn of_file(env: &mut Env, project: &Project, path: &str) -> Vec<(String, Option<String>)> {
    // That there is no such file was told with the findings.
    let Some(text) = project.files.text(&paths::normalize(path)) else { return Vec::new() };
    let found = dotenv::parse(&text, |name| (env.variables)(name));
    for mistake in &found.mistakes {
        let warning = paint(&env.err, WARNING, "warning");
        env.tell(&format!(
            "{warning}: {}:{} is no assignment and is left out",
            visible_line(path),
            mistake.line
        ));
    }
    found.variables.into_iter().collect()
}
