//! A local Python package: what installing it needs, as far as its manifests say so without running anything.

mod backend;
mod build_system;
mod skeleton;

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::compiler::dependency::Local;
use crate::compiler::files::Files;
use crate::compiler::paths;
use crate::compiler::pyproject::{Pyproject, table};
use crate::compiler::requirement;
use crate::compiler::symbols::setup_py::{SetupCall, setup_call};

pub use build_system::{BuildSystem, build_system};

/// How one package can be installed so that an edit to its source costs least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its distribution name, where a manifest says it.
    pub name: Option<String>,
    /// Its requirements (PEP 508), where they are static; `None` where only its backend knows them.
    pub requirements: Option<Vec<String>>,
    /// When its installation can run.
    pub install: Install,
    /// Where its uv sources take requirements from.
    pub sources: Sources,
}

/// What `tool.uv.sources` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Whether some point into the workspace, where only the package's neighbours can stand in for them.
    pub has_paths: bool,
    /// Requirements, by normalised name, that come from a repository, an address or an index of their own.
    pub elsewhere: Vec<String>,
}

/// When a package can be installed, from the cheapest to the plainest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Install {
    /// Before its source is there, from its manifests and empty files in place of its packages.
    Skeleton {
        /// Files that are copied as they are, relative to the package.
        manifests: Vec<String>,
        /// Files that only have to exist, relative to the package.
        placeholders: Vec<String>,
    },
    /// After its source is there, without its requirements, which are installed before.
    AfterCopy(String),
    /// After its source is there, with its requirements; the text says why.
    Plain(String),
}

/// What a manifest forces, before the layout is looked at.
enum Verdict {
    /// A skeleton will do; these files take part, and these only have to exist.
    Static { manifests: Vec<String>, placeholders: Vec<String> },
    /// Something runs when the package is built.
    Dynamic(String),
}

/// Looks at the package in a local dependency.
pub fn package(local: &Local, files: &dyn Files) -> Package {
    match &local.pyproject {
        Pyproject::Manifest(manifest) => from_pyproject(&local.path, manifest, files),
        Pyproject::Invalid => plain(None, "pyproject.toml is not valid TOML"),
        Pyproject::Absent => from_setup_py(&local.path, files),
    }
}

/// The files that installing a local dependency reads beside its code, relative to the configuration's directory.
pub fn read_by_installation(local: &Local, files: &dyn Files) -> Vec<String> {
    let names = match package(local, files).install {
        Install::Skeleton { manifests, .. } => manifests,
        Install::AfterCopy(_) | Install::Plain(_) => read_by_backend(local, files),
    };
    let paths = names.iter().map(|name| paths::join(&local.path, name));
    paths.filter(|path| files.is_file(path)).collect()
}

/// What a build backend that runs reads: the manifests, and what the metadata names.
fn read_by_backend(local: &Local, files: &dyn Files) -> Vec<String> {
    let mut names = ["pyproject.toml", "setup.py", "setup.cfg"].map(str::to_owned).to_vec();
    let Pyproject::Manifest(manifest) = &local.pyproject else { return names };
    let project = manifest.get("project").and_then(Value::as_table);
    for key in project.iter().flat_map(|project| strings(project, "dynamic")) {
        names.extend(dynamic_metadata(manifest, &[key]).unwrap_or_default());
    }
    let described = project.or_else(|| table(manifest, &["tool", "poetry"]));
    names.extend(described.iter().flat_map(|project| described_files(&local.path, project, files)));
    names
}

fn plain(name: Option<String>, why: &str) -> Package {
    Package { name, requirements: None, install: Install::Plain(why.to_owned()), sources: Sources::default() }
}

fn from_pyproject(path: &str, manifest: &Table, files: &dyn Files) -> Package {
    let Some(project) = manifest.get("project").and_then(Value::as_table) else {
        return without_project_table(path, manifest, files);
    };
    let name = string(project, "name");
    let dynamic = strings(project, "dynamic");
    let requirements = if dynamic.contains(&"dependencies".to_owned()) {
        None
    } else {
        Some(strings(project, "dependencies"))
    };
    let verdict = match dynamic_metadata(manifest, &dynamic) {
        Ok(manifests) => backend::verdict(path, manifest, files).and_manifests(manifests),
        Err(why) => Verdict::Dynamic(why),
    };
    let verdict = verdict.and_placeholders(described_files(path, project, files));
    let install = install(path, verdict, requirements.is_some(), files);
    Package { name, requirements, install, sources: sources(manifest) }
}

/// Poetry's own tables, or a setup.py beside a pyproject.toml that only names the build backend.
fn without_project_table(path: &str, manifest: &Table, files: &dyn Files) -> Package {
    let Some(poetry) = table(manifest, &["tool", "poetry"]) else {
        return from_setup_py(path, files);
    };
    let name = string(poetry, "name");
    let verdict =
        backend::verdict(path, manifest, files).and_placeholders(described_files(path, poetry, files));
    let install = install(path, verdict, false, files);
    Package { name, requirements: None, install, sources: Sources::default() }
}

fn from_setup_py(path: &str, files: &dyn Files) -> Package {
    if files.is_file(&paths::join(path, "setup.cfg")) {
        return plain(None, "setup.cfg is read by setuptools alone");
    }
    let text = files.text(&paths::join(path, "setup.py")).unwrap_or_default();
    let Some(call) = setup_call(&text) else {
        return plain(None, "setup.py computes its metadata");
    };
    let SetupCall { name, install_requires, .. } = call;
    let mut manifests = vec!["setup.py".to_owned()];
    if files.is_file(&paths::join(path, "pyproject.toml")) {
        manifests.push("pyproject.toml".to_owned());
    }
    let install = install(path, Verdict::Static { manifests, placeholders: Vec::new() }, true, files);
    Package {
        name,
        requirements: Some(install_requires.unwrap_or_default()),
        install,
        sources: Sources::default(),
    }
}

fn install(path: &str, verdict: Verdict, static_requirements: bool, files: &dyn Files) -> Install {
    match verdict {
        Verdict::Static { mut manifests, mut placeholders } => match skeleton::modules(path, files) {
            Ok(modules) => {
                placeholders.retain(|file| !manifests.contains(file));
                placeholders.extend(modules);
                tidy(&mut manifests);
                tidy(&mut placeholders);
                Install::Skeleton { manifests, placeholders }
            }
            Err(why) if static_requirements => Install::AfterCopy(why),
            Err(why) => Install::Plain(why),
        },
        Verdict::Dynamic(why) if static_requirements => Install::AfterCopy(why),
        Verdict::Dynamic(why) => Install::Plain(why),
    }
}

fn tidy(files: &mut Vec<String>) {
    let sorted: BTreeSet<String> = files.drain(..).collect();
    files.extend(sorted);
}

/// Which files setuptools reads dynamic metadata from, or why it has to run code for them.
fn dynamic_metadata(manifest: &Table, dynamic: &[String]) -> Result<Vec<String>, String> {
    let mut manifests = Vec::new();
    for key in dynamic {
        let Some(source) = table(manifest, &["tool", "setuptools", "dynamic", key]) else {
            return Err(format!("its `{key}` is computed by the build backend"));
        };
        match source.get("file") {
            Some(Value::String(file)) => manifests.push(paths::normalize(file)),
            Some(Value::Array(files)) => {
                manifests.extend(files.iter().filter_map(Value::as_str).map(paths::normalize));
            }
            _ => return Err(format!("its `{key}` is read from its code")),
        }
    }
    Ok(manifests)
}

/// Files that the metadata names and whose content no installation needs: readme and licences.
fn described_files(path: &str, project: &Table, files: &dyn Files) -> Vec<String> {
    let named = ["readme", "license"].into_iter().filter_map(|key| match project.get(key)? {
        Value::String(file) => Some(file.clone()),
        Value::Table(entry) => string(entry, "file"),
        _ => None,
    });
    named.map(|file| paths::normalize(&file)).filter(|file| files.is_file(&paths::join(path, file))).collect()
}

fn sources(manifest: &Table) -> Sources {
    let mut found = Sources::default();
    for (name, source) in table(manifest, &["tool", "uv", "sources"]).into_iter().flatten() {
        // One source, or several with conditions.
        let several = source.as_array().map_or(std::slice::from_ref(source), Vec::as_slice);
        let is_path = |it: &Value| it.get("path").is_some() || it.get("workspace").is_some();
        found.has_paths |= several.iter().any(is_path);
        if !several.iter().all(is_path) {
            found.elsewhere.push(requirement::normalized_name(name));
        }
    }
    found
}

impl Verdict {
    fn and_manifests(self, more: Vec<String>) -> Self {
        match self {
            Verdict::Static { mut manifests, placeholders } => {
                manifests.extend(more);
                Verdict::Static { manifests, placeholders }
            }
            dynamic => dynamic,
        }
    }

    fn and_placeholders(self, more: Vec<String>) -> Self {
        match self {
            Verdict::Static { manifests, mut placeholders } => {
                placeholders.extend(more);
                Verdict::Static { manifests, placeholders }
            }
            dynamic => dynamic,
        }
    }
}

fn string(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

fn strings(table: &Table, key: &str) -> Vec<String> {
    let items = table.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
