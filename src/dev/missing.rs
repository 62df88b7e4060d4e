//! Modules that the server does not find, and the project above the configuration has.

use super::session::Session;
use crate::compiler::back::plan::AboveProject;
use crate::compiler::manifests::above::distributions;

/// How to make the module available whose absence is the `cause` of a crash, as an imperative.
pub(super) fn hint(cause: &str, session: &Session) -> Option<String> {
    let (_, rest) = cause.split_once("ModuleNotFoundError: No module named '")?;
    let module = rest.split(['.', '\'']).next()?;
    let project = session.plan.local.python.as_ref()?.above.as_ref()?;
    let AboveProject { manifest, directories, requirements, help } = project;
    let has_code = directories.iter().any(|directory| {
        let place = session.directory.join(directory).join(module);
        place.is_dir() || place.with_extension("py").is_file()
    });
    let is_required = || distributions(module).iter().any(|name| requirements.contains(name));
    (has_code || is_required()).then(|| format!("`{module}` comes with `{manifest}`: {help}"))
}
