//! The values of `env`, read where a server is started, and never shown.

use super::console::{note, warn};
use super::env::Env;
use super::settings::parsed;
use crate::compiler::files::Files;
use crate::compiler::front::config::{Config, EnvConfig};
use crate::compiler::paths;
use crate::compiler::server::hosted;
use crate::project::Project;

/// Variables with their values, in the order of the file or of the configuration; without a value, the variable is
/// taken out of the environment. If they are sealed, variables of the environment are not expanded in them. Warns about
/// lines of a file that cannot be read.
pub(super) fn values(
    env: &mut Env,
    project: &Project,
    config: &Config,
    is_sealed: bool,
) -> Vec<(String, Option<String>)> {
    match &config.env {
        None => Vec::new(),
        Some(EnvConfig::Map(values)) => {
            values.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
        }
        Some(EnvConfig::File(path)) => of_file(env, project, path, is_sealed),
    }
}

/// Variables that are no secrets of a deployment, and why, as a fragment.
pub(in crate::cli) type Reserved = (&'static str, &'static [&'static str]);

/// Those of a deployment service.
pub(in crate::cli) const OF_SERVICE: Reserved = ("that the service sets itself", hosted::RESERVED);

/// Those of a cluster, where nobody else sets keys of tracing or of a licence.
pub(in crate::cli) const OF_CLUSTER: Reserved = ("that are for agentcli alone", hosted::OF_TOOL);

/// The variables that can be secrets of a deployment. A note names the reserved and the empty ones, which are left out.
pub(in crate::cli) fn deployable(
    env: &mut Env,
    (why, names): Reserved,
    variables: impl IntoIterator<Item = (String, Option<String>)>,
) -> Vec<(String, String)> {
    let mut deployable = Vec::new();
    let mut reserved = Vec::new();
    let mut empty = Vec::new();
    for (name, value) in variables {
        match value.filter(|value| !value.is_empty()) {
            _ if names.contains(&name.as_str()) => reserved.push(name),
            Some(value) => deployable.push((name, value)),
            None => empty.push(name),
        }
    }
    for (why, names) in [(why, reserved), ("without a value", empty)] {
        if !names.is_empty() {
            note(env, &format!("ignoring variables {why}: {}", names.join(", ")));
        }
    }
    deployable
}

fn of_file(env: &mut Env, project: &Project, path: &str, is_sealed: bool) -> Vec<(String, Option<String>)> {
    let normal = paths::normalize(path);
    let text = match project.files.read(&normal) {
        Ok(text) => text,
        // A finding has reported a missing file.
        Err(_) if !project.files.is_file(&normal) => return Vec::new(),
        Err(reason) => {
            warn(env, &format!("ignoring `{path}`: {reason}"));
            return Vec::new();
        }
    };
    let found = parsed(env, &text, &normal, is_sealed);
    let (usable, unusable): (Vec<_>, Vec<_>) = found.variables.into_iter().partition(is_usable);
    for (name, _) in unusable {
        warn(env, &format!("ignoring the variable `{name}` of `{path}`: it cannot be set in an environment"));
    }
    usable
}

/// Whether an environment can hold it.
fn is_usable((name, value): &(String, Option<String>)) -> bool {
    let has_nul = |text: &str| text.contains('\0');
    !name.is_empty() && !name.contains('=') && !has_nul(name) && !value.as_deref().is_some_and(has_nul)
}
