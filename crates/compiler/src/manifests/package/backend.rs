//! Build backends: which manifests an editable installation reads, and whether it runs or copies anything else.

use toml::{Table, Value};

use crate::files::Files;
use crate::manifests::pyproject::{read, string, strings, table};
use crate::manifests::requirement;
use crate::manifests::setup_py::setup_call;
use crate::paths;
use crate::tree::Tree;

const SETUPTOOLS: &str = "setuptools.build_meta";
const SETUPTOOLS_LEGACY: &str = "setuptools.build_meta:__legacy__";
pub(super) const HATCHLING: &str = "hatchling.build";

/// Backends whose editable installation only adds the package's directory to the import path.
const BACKENDS: &[&str] = &[
    "flit_core.buildapi",
    HATCHLING,
    "pdm.backend",
    "poetry.core.masonry.api",
    SETUPTOOLS,
    SETUPTOOLS_LEGACY,
    "uv_build",
];

/// Build requirements that leave it at that, unless a setting of [`ACTIVE`] or dynamic metadata asks for more.
const BUILD_REQUIREMENTS: &[&str] = &[
    "flit-core",
    "hatch-fancy-pypi-readme",
    "hatch-vcs",
    "hatchling",
    "pdm-backend",
    "pip",
    "poetry-core",
    "setuptools",
    "setuptools-scm",
    "uv-build",
    "wheel",
];

/// Tables and keys of pyproject.toml that make a build run or copy something.
const ACTIVE: &[&str] = &[
    "tool.flit.external-data",
    "tool.hatch.build.force-include",
    "tool.hatch.build.hooks",
    "tool.hatch.build.targets.wheel.extra-metadata",
    "tool.hatch.build.targets.wheel.force-include",
    "tool.hatch.build.targets.wheel.hooks",
    "tool.hatch.build.targets.wheel.sbom-files",
    "tool.hatch.build.targets.wheel.shared-data",
    "tool.hatch.build.targets.wheel.shared-scripts",
    "tool.hatch.metadata.hooks",
    "tool.pdm.build",
    "tool.poetry.build",
    "tool.setuptools.cmdclass",
    "tool.setuptools.data-files",
    "tool.setuptools.ext-modules",
    "tool.setuptools.script-files",
    "tool.setuptools-scm",
    "tool.setuptools_scm",
    "tool.uv.build-backend.data",
];

/// Keywords of `setup()` that name files to copy.
const COPIED: &[&str] = &["data_files", "headers", "scripts"];

/// The manifests that the backend of the package at `path` reads, or why it needs more than manifests.
pub(super) fn manifests(path: &str, manifest: &Table, files: &Tree) -> Result<Vec<String>, String> {
    let empty = Table::new();
    let system = table(manifest, &["build-system"]).unwrap_or(&empty);
    let module = module(manifest);
    if system.contains_key("backend-path") {
        return Err("it has its own build backend".to_owned());
    }
    if !is_supported(manifest) {
        return Err(format!("the build backend `{module}` is not supported"));
    }
    let is_known =
        |it: &String| requirement::name(it).is_some_and(|name| BUILD_REQUIREMENTS.contains(&name.as_str()));
    if let Some(plugin) = strings(system, "requires").into_iter().find(|it| !is_known(it)) {
        return Err(format!("`{plugin}` may change its build"));
    }
    let mut manifests = vec!["pyproject.toml".to_owned()];
    check_active(manifest, "")?;
    if module == HATCHLING {
        if let Some(text) = files.text(&paths::join(path, "hatch.toml")) {
            let settings = read(&text).map_err(|_| "hatch.toml is not valid TOML")?;
            check_active(&settings, "tool.hatch.")?;
        }
        manifests.push("hatch.toml".to_owned());
    }
    let mut scripts = table(manifest, &["tool", "poetry", "scripts"]).into_iter().flatten();
    if scripts.any(|(_, script)| script.get("type").and_then(Value::as_str) == Some("file")) {
        return Err("[tool.poetry.scripts] names files to copy".to_owned());
    }
    if is_setuptools(manifest) {
        check_setuptools(path, files)?;
        manifests.extend(["setup.cfg", "setup.py"].map(str::to_owned));
    }
    manifests.retain(|file| files.is_file(&paths::join(path, file)));
    Ok(manifests)
}

/// Whether the backend is one of [`BACKENDS`].
pub(super) fn is_supported(manifest: &Table) -> bool {
    BACKENDS.contains(&module(manifest).as_str())
}

/// Whether setuptools builds the package. It is the default.
pub(super) fn is_setuptools(manifest: &Table) -> bool {
    [SETUPTOOLS, SETUPTOOLS_LEGACY].contains(&module(manifest).as_str())
}

pub(super) fn module(manifest: &Table) -> String {
    let named = table(manifest, &["build-system"]).and_then(|system| string(system, "build-backend"));
    named.unwrap_or_else(|| SETUPTOOLS_LEGACY.to_owned())
}

/// Looks for keys of [`ACTIVE`]; `prefix` is the part of the key that `settings` is below.
fn check_active(settings: &Table, prefix: &str) -> Result<(), String> {
    let is_set = |key: &&&str| {
        let keys: Option<Vec<&str>> = key.strip_prefix(prefix).map(|rest| rest.split('.').collect());
        let Some((last, parents)) = keys.as_deref().and_then(<[_]>::split_last) else { return false };
        let value = table(settings, parents).and_then(|table| table.get(*last));
        value.is_some_and(|value| value.as_array().is_none_or(|items| !items.is_empty()))
    };
    match ACTIVE.iter().find(is_set) {
        Some(key) => Err(format!("[{key}] makes its build run or copy something")),
        None => Ok(()),
    }
}

/// setuptools also reads setup.py, which is a program, and setup.cfg.
fn check_setuptools(path: &str, files: &Tree) -> Result<(), String> {
    let text = |name: &str| files.text(&paths::join(path, name));
    if text("setup.cfg").is_some_and(|text| text.lines().any(|line| line.starts_with("[options"))) {
        return Err("setup.cfg has options for its build".to_owned());
    }
    let Some(text) = text("setup.py") else { return Ok(()) };
    let call = setup_call(&text).ok_or("setup.py computes something")?;
    match call.other.iter().find(|key| COPIED.contains(&key.as_str())) {
        Some(key) => Err(format!("`{key}` in setup.py names files to copy")),
        None => Ok(()),
    }
}
