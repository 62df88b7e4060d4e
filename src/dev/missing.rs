//! Modules that the server does not find, and the project above the configuration has.

use super::session::Session;
use crate::compiler::back::plan::AboveProject;
use crate::compiler::manifests::above::distributions;

/// What Python and Node.js say of a module that is not there.
const ABSENT: &[&str] = &["ModuleNotFoundError", "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

/// Whether a line says that a module is not there: packages may have disappeared.
pub(super) fn is_package(line: &str) -> bool {
    ABSENT.iter().any(|text| line.contains(text))
}

/// How to make the module available whose absence is the `cause` of a crash, as an imperative.
pub(super) fn hint(cause: &str, session: &Session) -> Option<String> {
    absent_variable(cause, session).or_else(|| absent_module(cause, session))
}

/// Where a variable that the code reads from the environment belongs.
fn absent_variable(cause: &str, session: &Session) -> Option<String> {
    let name = cause.split_once("KeyError: '")?.1.strip_suffix('\'')?;
    let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_set = session.env.iter().any(|(known, _)| known == name);
    let file = session.plan.env.file.as_deref().unwrap_or(".env");
    (!is_set && !name.is_empty() && name.chars().all(is_variable)).then(|| format!("add {name} to {file}"))
}

fn absent_module(cause: &str, session: &Session) -> Option<String> {
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
