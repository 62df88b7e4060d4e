//! A local Python package: what installing it needs, as far as its manifests say so without running anything.

mod backend;
mod build_system;
mod glob;
mod named;
mod skeleton;
mod uv;

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::compiler::files::Files;
use crate::compiler::manifests::dependency::Local;
use crate::compiler::manifests::pyproject::{Pyproject, table};
use crate::compiler::manifests::requirement;
use crate::compiler::manifests::symbols::setup_py::{SetupCall, setup_call};
use crate::compiler::paths;
use named::Named;

pub use build_system::{BuildSystem, build_system};
pub use uv::{UvSettings, uv_settings, uv_settings_for};

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
        /// Files that only have to exist, relative to the package, and directories, which end with `/`.
        placeholders: Vec<String>,
    },
    /// After its source is there, without its requirements, which are installed before.
    AfterCopy(String),
    /// After its source is there, with its requirements; the text says why.
    Plain(String),
}

/// What a manifest forces, before the layout is looked at.
enum Verdict {
    /// A skeleton will do; these files take part, these only have to exist, and this has to be in the layout.
    Static { manifests: Vec<String>, placeholders: Vec<String>, named: Named },
    /// Something runs when the package is built.
    Dynamic(String),
}

/// Looks at the package in a local dependency.
pub fn package(local: &Local, files: &dyn Files) -> Package {
    match &local.pyproject {
        Pyproject::Manifest(manifest) => from_pyproject(&local.path, manifest, files),
        Pyproject::Broken(_) => plain(None, "pyproject.toml is not valid TOML"),
        Pyproject::Absent => from_setup_py(&local.path, &Table::new(), files),
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
    let mut names = ["pyproject.toml", "setup.py", "setup.cfg", "hatch.toml"].map(str::to_owned).to_vec();
    let Pyproject::Manifest(manifest) = &local.pyproject else { return names };
    let project = manifest.get("project").and_then(Value::as_table);
    for key in project.iter().flat_map(|project| strings(project, "dynamic")) {
        names.extend(dynamic_metadata(&local.path, manifest, &[key], files).unwrap_or_default());
    }
    // Without them setuptools installs a package all the same, and so do all where a pattern finds none.
    let described = project.or_else(|| table(manifest, &["tool", "poetry"]));
    if let Some(described) = described.filter(|_| !backend::is_setuptools(manifest)) {
        names.extend(described_files(described).0);
    }
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
    let verdict = match dynamic_metadata(path, manifest, &dynamic, files) {
        Ok(manifests) => backend::verdict(path, manifest, files).and_manifests(manifests),
        Err(why) => Verdict::Dynamic(why),
    };
    let verdict = verdict.and_described(path, project, files);
    let install = install(path, verdict, requirements.is_some(), files);
    Package { name, requirements, install, sources: sources(manifest) }
}

/// Poetry's own tables, or a setup.py beside a pyproject.toml that only names the build backend.
fn without_project_table(path: &str, manifest: &Table, files: &dyn Files) -> Package {
    let Some(poetry) = table(manifest, &["tool", "poetry"]) else {
        return from_setup_py(path, manifest, files);
    };
    let name = string(poetry, "name");
    let verdict = backend::verdict(path, manifest, files).and_described(path, poetry, files);
    let install = install(path, verdict, false, files);
    Package { name, requirements: None, install, sources: Sources::default() }
}

fn from_setup_py(path: &str, manifest: &Table, files: &dyn Files) -> Package {
    if files.is_file(&paths::join(path, "setup.cfg")) {
        return plain(None, "setup.cfg is read by setuptools alone");
    }
    let text = files.text(&paths::join(path, "setup.py")).unwrap_or_default();
    let Some(call) = setup_call(&text) else {
        return plain(None, "setup.py computes its metadata");
    };
    let SetupCall { name, install_requires, .. } = call;
    let install = install(path, backend::verdict(path, manifest, files), true, files);
    Package {
        name,
        requirements: Some(install_requires.unwrap_or_default()),
        install,
        sources: Sources::default(),
    }
}

fn install(path: &str, verdict: Verdict, static_requirements: bool, files: &dyn Files) -> Install {
    let skeleton = match verdict {
        Verdict::Static { mut manifests, mut placeholders, named } => skeleton::files(path, &named, files)
            .map(|layout| {
                placeholders.extend(layout);
                placeholders.retain(|file| !manifests.contains(file));
                tidy(&mut manifests);
                tidy(&mut placeholders);
                Install::Skeleton { manifests, placeholders }
            }),
        Verdict::Dynamic(why) => Err(why),
    };
    skeleton
        .unwrap_or_else(|why| if static_requirements { Install::AfterCopy(why) } else { Install::Plain(why) })
}

fn tidy(files: &mut Vec<String>) {
    let sorted: BTreeSet<String> = files.drain(..).collect();
    files.extend(sorted);
}

/// Which files setuptools reads dynamic metadata from, or why it has to run code for them. It does without those that
/// are not there.
fn dynamic_metadata(
    path: &str,
    manifest: &Table,
    dynamic: &[String],
    files: &dyn Files,
) -> Result<Vec<String>, String> {
    let mut manifests = Vec::new();
    for key in dynamic {
        let Some(source) = table(manifest, &["tool", "setuptools", "dynamic", key]) else {
            return Err(format!("its `{key}` is computed by the build backend"));
        };
        // Extras have one source each.
        let several: Vec<&Value> = match key.as_str() {
            "optional-dependencies" => {
                source.values().map(|extra| extra.get("file").unwrap_or(extra)).collect()
            }
            _ => source.get("file").into_iter().collect(),
        };
        if several.is_empty() || several.iter().any(|files| !files.is_str() && !files.is_array()) {
            return Err(format!("its `{key}` is read from its code"));
        }
        for files in several {
            let files = files.as_array().map_or(std::slice::from_ref(files), Vec::as_slice);
            manifests.extend(files.iter().filter_map(Value::as_str).map(paths::normalize));
        }
    }
    manifests.retain(|file| files.is_file(&paths::join(path, file)));
    Ok(manifests)
}

/// Files that the metadata names and whose content no installation needs: readme and licences, of which some may be
/// given by patterns.
fn described_files(project: &Table) -> (Vec<String>, Vec<String>) {
    let mut names: Vec<String> = ["readme", "license"]
        .into_iter()
        .filter_map(|key| match project.get(key)? {
            Value::String(file) => Some(file.clone()),
            Value::Table(entry) => string(entry, "file"),
            _ => None,
        })
        .collect();
    // Poetry reads several.
    names.extend(strings(project, "readme"));
    let mut patterns = strings(project, "license-files");
    // As it was before PEP 639 was final.
    if let Some(table) = table(project, &["license-files"]) {
        patterns.extend(strings(table, "globs"));
        names.extend(strings(table, "paths"));
    }
    (names.iter().map(|file| paths::normalize(file)).collect(), patterns)
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
    fn and_manifests(mut self, more: Vec<String>) -> Self {
        if let Verdict::Static { manifests, .. } = &mut self {
            manifests.extend(more);
        }
        self
    }

    fn and_described(mut self, path: &str, project: &Table, files: &dyn Files) -> Self {
        if let Verdict::Static { placeholders, named, .. } = &mut self {
            let (names, patterns) = described_files(project);
            placeholders.extend(names.into_iter().filter(|file| files.is_file(&paths::join(path, file))));
            named.patterns.extend(patterns);
        }
        self
    }
}

fn string(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

fn strings(table: &Table, key: &str) -> Vec<String> {
    let items = table.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
