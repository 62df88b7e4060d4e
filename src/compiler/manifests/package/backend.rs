//! What is known of each build backend: whether an editable installation needs no more than the layout.

use std::borrow::Cow;

use toml::{Table, Value};

use super::named::Named;
use super::{Verdict, build_system, string, strings};
use crate::compiler::files::Files;
use crate::compiler::manifests::pyproject::table;
use crate::compiler::manifests::requirement;
use crate::compiler::manifests::symbols::setup_py::setup_call;
use crate::compiler::paths;

/// A build backend whose editable installation is an entry in the import path, unless one of `active` settings in
/// pyproject.toml makes it run or copy something.
struct Backend {
    module: &'static str,
    active: &'static [&'static [&'static str]],
    /// What may be required beside it without a plugin that changes what it does.
    known: Option<&'static [&'static str]>,
}

const BACKENDS: &[Backend] = &[
    Backend { module: "flit_core.buildapi", active: &[&["tool", "flit", "external-data"]], known: None },
    Backend {
        module: HATCHLING,
        active: &[
            &["tool", "hatch", "build", "hooks"],
            &["tool", "hatch", "build", "force-include"],
            &["tool", "hatch", "build", "targets", "wheel", "hooks"],
            &["tool", "hatch", "build", "targets", "wheel", "extra-metadata"],
            &["tool", "hatch", "build", "targets", "wheel", "force-include"],
            &["tool", "hatch", "build", "targets", "wheel", "sbom-files"],
            &["tool", "hatch", "build", "targets", "wheel", "shared-data"],
            &["tool", "hatch", "build", "targets", "wheel", "shared-scripts"],
            &["tool", "hatch", "metadata", "hooks"],
        ],
        known: None,
    },
    Backend { module: "pdm.backend", active: &[&["tool", "pdm", "build"]], known: Some(&["pdm-backend"]) },
    Backend { module: POETRY, active: &[&["tool", "poetry", "build"]], known: None },
    Backend {
        module: SETUPTOOLS,
        active: &[
            &["tool", "setuptools", "cmdclass"],
            &["tool", "setuptools", "data-files"],
            &["tool", "setuptools", "script-files"],
            // The plugin's, which is otherwise only asked for a version.
            &["tool", "setuptools_scm"],
            &["tool", "setuptools-scm"],
        ],
        known: Some(&["pip", "setuptools", "setuptools-scm", "wheel"]),
    },
    Backend { module: "uv_build", active: &[&["tool", "uv", "build-backend", "data"]], known: None },
];

const HATCHLING: &str = "hatchling.build";
const POETRY: &str = "poetry.core.masonry.api";
const SETUPTOOLS: &str = "setuptools.build_meta";

/// Where hatchling reads its settings, too.
const HATCH_TOML: &str = "hatch.toml";

/// Keywords of setup.py that name files to be copied.
const COPIED: &[&str] = &["data_files", "headers", "scripts"];

/// Sections of setup.cfg, and keys of its `[options]`, that cannot change which files take part.
const HARMLESS_SECTIONS: &[&str] = &[
    "options.entry_points",
    "options.exclude_package_data",
    "options.extras_require",
    "options.package_data",
];
const HARMLESS_OPTIONS: &[&str] =
    &["include_package_data", "install_requires", "package_dir", "python_requires", "zip_safe"];

/// What the backend of the package at `path` needs.
pub(super) fn verdict(path: &str, manifest: &Table, files: &dyn Files) -> Verdict {
    let system = table(manifest, &["build-system"]);
    let module = module(manifest);
    if system.is_some_and(|system| system.contains_key("backend-path")) {
        return Verdict::Dynamic("it brings its own build backend".to_owned());
    }
    let is_legacy = module == build_system::LEGACY;
    let Some(backend) =
        BACKENDS.iter().find(|it| module == it.module || is_legacy && it.module == SETUPTOOLS)
    else {
        return Verdict::Dynamic(format!("what `{module}` does when it builds is not known"));
    };
    if let Some(plugin) = system.and_then(|system| plugin(backend, system)) {
        return Verdict::Dynamic(format!("what `{plugin}` makes of its build is not known"));
    }
    let mut manifests = vec!["pyproject.toml".to_owned()];
    let mut manifest = Cow::Borrowed(manifest);
    if let Some(text) = files.text(&paths::join(path, HATCH_TOML)).filter(|_| backend.module == HATCHLING) {
        let Ok(settings) = text.parse() else {
            return Verdict::Dynamic(format!("{HATCH_TOML} is not valid TOML"));
        };
        manifest = Cow::Owned(with_hatch_toml(&manifest, settings));
        manifests.push(HATCH_TOML.to_owned());
    }
    manifests.retain(|file| files.is_file(&paths::join(path, file)));
    if let Some(active) = backend.active.iter().find(|keys| has(&manifest, keys)) {
        return Verdict::Dynamic(format!("[{}] makes its build run or copy something", active.join(".")));
    }
    let named = match backend.module {
        SETUPTOOLS => return setuptools(path, &manifest, files, manifests),
        POETRY if has_file_script(&manifest) => {
            return Verdict::Dynamic("[tool.poetry.scripts] names files to be copied".to_owned());
        }
        POETRY => Named::poetry(&manifest, path, files),
        HATCHLING => Named::hatch(&manifest, path, files),
        "flit_core.buildapi" => Named::flit(&manifest),
        "uv_build" => Named::uv(&manifest),
        _ => Named::default(),
    };
    Verdict::Static { manifests, placeholders: Vec::new(), named }
}

/// The module that builds, which is setuptools' where none is named.
fn module(manifest: &Table) -> String {
    let named = table(manifest, &["build-system"]).and_then(|system| string(system, "build-backend"));
    named.unwrap_or_else(|| SETUPTOOLS.to_owned())
}

/// Whether setuptools builds the package.
pub(super) fn is_setuptools(manifest: &Table) -> bool {
    [SETUPTOOLS, build_system::LEGACY].contains(&module(manifest).as_str())
}

/// What a build also requires that may be a plugin.
fn plugin(backend: &Backend, system: &Table) -> Option<String> {
    let known = backend.known?;
    strings(system, "requires")
        .into_iter()
        .find(|required| !requirement::name(required).is_some_and(|name| known.contains(&name.as_str())))
}

fn has(manifest: &Table, keys: &[&str]) -> bool {
    let Some((last, before)) = keys.split_last() else { return false };
    table(manifest, before).is_some_and(|table| table.contains_key(*last))
}

/// What stands in hatch.toml, hatchling takes instead of what pyproject.toml says.
fn with_hatch_toml(manifest: &Table, settings: Table) -> Table {
    let mut hatch = table(manifest, &["tool", "hatch"]).cloned().unwrap_or_default();
    hatch.extend(settings);
    let mut tool = table(manifest, &["tool"]).cloned().unwrap_or_default();
    tool.insert("hatch".to_owned(), Value::Table(hatch));
    let mut manifest = manifest.clone();
    manifest.insert("tool".to_owned(), Value::Table(tool));
    manifest
}

fn has_file_script(manifest: &Table) -> bool {
    let mut scripts = table(manifest, &["tool", "poetry", "scripts"]).into_iter().flatten();
    scripts.any(|(_, script)| script.get("type").and_then(Value::as_str) == Some("file"))
}

/// setuptools also reads setup.py and setup.cfg, which may do anything.
fn setuptools(path: &str, manifest: &Table, files: &dyn Files, mut manifests: Vec<String>) -> Verdict {
    let extensions = table(manifest, &["tool", "setuptools"]).and_then(|it| it.get("ext-modules"));
    if extensions.and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        return Verdict::Dynamic("it has extension modules to build".to_owned());
    }
    let mut named = Named::setuptools(manifest);
    if let Some(text) = files.text(&paths::join(path, "setup.cfg")) {
        if let Some(what) = active_in_cfg(&text) {
            return Verdict::Dynamic(format!("{what} in setup.cfg is read by setuptools alone"));
        }
        manifests.push("setup.cfg".to_owned());
    }
    if let Some(text) = files.text(&paths::join(path, "setup.py")) {
        let Some(call) = setup_call(&text) else {
            return Verdict::Dynamic("its setup.py computes something".to_owned());
        };
        if let Some(copied) = call.other.iter().find(|key| COPIED.contains(&key.as_str())) {
            return Verdict::Dynamic(format!("`{copied}` in its setup.py names files to be copied"));
        }
        named.extend(Named::setup_py(&call));
        manifests.push("setup.py".to_owned());
    }
    Verdict::Static { manifests, placeholders: Vec::new(), named }
}

/// What of setup.cfg may change which files take part.
fn active_in_cfg(text: &str) -> Option<String> {
    let mut section = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name.trim();
            let is_harmless = section == "options" || HARMLESS_SECTIONS.contains(&section);
            // `find:` looks for `__init__.py`, and each of those is there.
            let is_search = section == "options.packages.find";
            if section.starts_with("options") && !is_harmless && !is_search {
                return Some(format!("[{section}]"));
            }
        } else if section == "options" && !line.starts_with([' ', '\t', '#', ';']) {
            let Some((key, value)) = line.split_once(['=', ':']) else { continue };
            let (key, value) = (key.trim().replace('-', "_"), value.trim());
            let is_find = key == "packages" && value == "find:";
            if !is_find && !HARMLESS_OPTIONS.contains(&key.as_str()) {
                return Some(format!("`{key}` of [options]"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_cfg() {
        for (text, expected) in [
            ("", None),
            ("[flake8]\nscripts = a\n", None),
            (
                "[options]\npackages = find:\nzip_safe = no\n# scripts = a\n[options.packages.find]\nwhere = src",
                None,
            ),
            ("[options]\ninstall_requires =\n  scripts = 1\n\n[options.package_data]\n* = *.txt\n", None),
            ("[options]\nscripts =\n  bin/x.sh\n", Some("`scripts` of [options]")),
            ("[options]\r\nsetup-requires: x\r\n", Some("`setup_requires` of [options]")),
            ("[options]\npackages =\n  a\n  a.b\n", Some("`packages` of [options]")),
            ("[options]\npackages = find_namespace:\n", Some("`packages` of [options]")),
            ("[options.data_files]\netc = a\n", Some("[options.data_files]")),
        ] {
            assert_eq!(active_in_cfg(text).as_deref(), expected, "{text}");
        }
    }
}
