//! What is known of each build backend: whether an editable installation needs no more than the layout.

use toml::{Table, Value};

use super::{Verdict, string};
use crate::compiler::files::Files;
use crate::compiler::paths;
use crate::compiler::pyproject::table;
use crate::compiler::symbols::setup_py::setup_call;

/// A build backend whose editable installation is an entry in the import path, unless one of `active` tables of
/// pyproject.toml makes it run something.
struct Backend {
    module: &'static str,
    active: &'static [&'static [&'static str]],
}

const BACKENDS: &[Backend] = &[
    Backend { module: "flit_core.buildapi", active: &[&["tool", "flit", "external-data"]] },
    Backend {
        module: "hatchling.build",
        active: &[
            &["tool", "hatch", "build", "hooks"],
            &["tool", "hatch", "build", "targets", "wheel", "hooks"],
            &["tool", "hatch", "build", "targets", "wheel", "force-include"],
            &["tool", "hatch", "build", "force-include"],
            &["tool", "hatch", "metadata", "hooks"],
        ],
    },
    Backend { module: "pdm.backend", active: &[&["tool", "pdm", "build"]] },
    Backend { module: "poetry.core.masonry.api", active: &[&["tool", "poetry", "build"]] },
    Backend {
        module: "setuptools.build_meta",
        active: &[&["tool", "setuptools", "data-files"], &["tool", "setuptools", "cmdclass"]],
    },
    Backend { module: "uv_build", active: &[&["tool", "uv", "build-backend", "data"]] },
];

/// What the backend of the package at `path` needs.
pub(super) fn verdict(path: &str, manifest: &Table, files: &dyn Files) -> Verdict {
    let module = table(manifest, &["build-system"]).and_then(|system| string(system, "build-backend"));
    let module = module.unwrap_or_else(|| "setuptools.build_meta".to_owned());
    if table(manifest, &["build-system"]).is_some_and(|system| system.contains_key("backend-path")) {
        return Verdict::Dynamic("it brings its own build backend".to_owned());
    }
    let Some(backend) = BACKENDS.iter().find(|backend| module == backend.module) else {
        return Verdict::Dynamic(format!("what `{module}` does when it builds is not known"));
    };
    if let Some(active) = backend.active.iter().find(|keys| has(manifest, keys)) {
        return Verdict::Dynamic(format!("[{}] makes its build run something", active.join(".")));
    }
    let manifests = vec!["pyproject.toml".to_owned()];
    if backend.module == "setuptools.build_meta" {
        return setuptools(path, manifest, files, manifests);
    }
    Verdict::Static { manifests, placeholders: Vec::new() }
}

fn has(manifest: &Table, keys: &[&str]) -> bool {
    let Some((last, before)) = keys.split_last() else { return false };
    table(manifest, before).is_some_and(|table| table.contains_key(*last))
}

/// setuptools also reads setup.py and setup.cfg, which may do anything.
fn setuptools(path: &str, manifest: &Table, files: &dyn Files, mut manifests: Vec<String>) -> Verdict {
    let extensions = table(manifest, &["tool", "setuptools"]).and_then(|it| it.get("ext-modules"));
    if extensions.and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        return Verdict::Dynamic("it has extension modules to build".to_owned());
    }
    if files.is_file(&paths::join(path, "setup.cfg")) {
        manifests.push("setup.cfg".to_owned());
    }
    if let Some(text) = files.text(&paths::join(path, "setup.py")) {
        if setup_call(&text).is_none() {
            return Verdict::Dynamic("its setup.py computes something".to_owned());
        }
        manifests.push("setup.py".to_owned());
    }
    Verdict::Static { manifests, placeholders: Vec::new() }
}
