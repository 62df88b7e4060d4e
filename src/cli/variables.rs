//! The values of `env`: read here, at the edge, where a server is started, and handed on without being shown.

use super::console::{note, warn};
use super::env::Env;
use crate::compiler::config::{Config, EnvConfig};
use crate::compiler::files::Files;
use crate::compiler::server::hosted;
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

/// Those that can be secrets of a deployment, with their values: without those that the service sets itself, which are told by name, and without
/// empty ones.
pub(in crate::cli) fn deployable(
    env: &mut Env,
    variables: impl IntoIterator<Item = (String, Option<String>)>,
) -> Vec<(String, String)> {
    let valued =
        variables.into_iter().filter_map(|(name, value)| Some((name, value.filter(|it| !it.is_empty())?)));
    let (reserved, deployable): (Vec<_>, Vec<_>) =
        valued.partition(|(name, _)| hosted::RESERVED.contains(&name.as_str()));
    if !reserved.is_empty() {
        let names: Vec<&str> = reserved.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("left out, since the service sets them itself: {}", names.join(", "));
        note(env, &text);
    }
    deployable
}

fn of_file(env: &mut Env, project: &Project, path: &str) -> Vec<(String, Option<String>)> {
    let normal = paths::normalize(path);
    let text = match project.files.read(&normal) {
        Ok(text) => text,
        // That there is no such file was told with the findings.
        Err(_) if !project.files.is_file(&normal) => return Vec::new(),
        Err(reason) => {
            warn(env, &format!("`{path}` is left out: {reason}"));
            return Vec::new();
        }
    };
    let found = dotenv::parse(&text, |name| (env.variables)(name));
    for mistake in &found.mistakes {
        warn(env, &format!("{normal}:{} is no assignment and is left out", mistake.line));
    }
    let (usable, unusable): (Vec<_>, Vec<_>) = found.variables.into_iter().partition(is_usable);
    for (name, _) in unusable {
        warn(env, &format!("the variable `{name}` of `{path}` is left out: no environment can hold it"));
    }
    usable
}

/// Whether an environment can hold it.
fn is_usable((name, value): &(String, Option<String>)) -> bool {
    let has_nul = |text: &str| text.contains('\0');
    !name.is_empty() && !name.contains('=') && !has_nul(name) && !value.as_deref().is_some_and(has_nul)
}
