//! A local Python package: its name, its requirements, and the files that its editable installation reads.

mod backend;
mod skeleton;
mod uv;

use toml::{Table, Value};

use crate::compiler::files::Files;
use crate::compiler::manifests::dependency::Local;
use crate::compiler::manifests::pyproject::{Pyproject, table};
use crate::compiler::manifests::requirement;
use crate::compiler::manifests::setup_py::setup_call;
use crate::compiler::paths;

pub use skeleton::Skeleton;
pub use uv::{UvSettings, uv_settings, uv_settings_for};

/// A local package, as described by its manifests. No code of it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Distribution name, where a manifest has it.
    pub name: Option<String>,
    /// Requirements (PEP 508), or `None` if only the build backend can tell them.
    pub requirements: Option<Vec<String>>,
    /// The files from which it can be installed before its source is there, or a lowercase fragment that says why the
    /// source is needed.
    pub skeleton: Result<Skeleton, String>,
    /// Requirements that its uv sources redirect.
    pub sources: Sources,
}

/// `tool.uv.sources`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Whether a source is a path or a member of the workspace.
    pub has_paths: bool,
    /// Normalised names of requirements that come from a repository, a URL or an index of their own.
    pub elsewhere: Vec<String>,
}

impl Package {
    fn needing_source(name: Option<String>, requirements: Option<Vec<String>>, why: &str) -> Self {
        Self { name, requirements, skeleton: Err(why.to_owned()), sources: Sources::default() }
    }
}

/// Reads the manifests of a local dependency.
pub fn package(local: &Local, files: &dyn Files) -> Package {
    match &local.pyproject {
        Pyproject::Manifest(manifest) => from_pyproject(&local.path, manifest, files),
        Pyproject::Broken(_) => Package::needing_source(None, None, "pyproject.toml is not valid TOML"),
        Pyproject::Absent => from_setup_py(&local.path, &Table::new(), files),
    }
}

/// The files, besides its code, that installing a local dependency reads. Relative to the configuration's directory.
pub fn read_by_installation(local: &Local, files: &dyn Files) -> Vec<String> {
    let names = match package(local, files).skeleton {
        Ok(skeleton) => skeleton.manifests,
        Err(_) => read_by_backend(local),
    };
    let paths = names.iter().map(|name| paths::join(&local.path, name));
    paths.filter(|path| files.is_file(path)).collect()
}

/// The files that a build backend may read: the manifests, and the files that the metadata names.
fn read_by_backend(local: &Local) -> Vec<String> {
    let mut names = ["pyproject.toml", "setup.py", "setup.cfg", "hatch.toml"].map(str::to_owned).to_vec();
    let Pyproject::Manifest(manifest) = &local.pyproject else { return names };
    let mut named = below(manifest, &["tool", "setuptools", "dynamic"]);
    // setuptools does without a missing readme or licence.
    if !backend::is_setuptools(manifest) {
        named.extend(described(manifest));
    }
    names.extend(named.into_iter().map(paths::normalize));
    names
}

fn from_pyproject(path: &str, manifest: &Table, files: &dyn Files) -> Package {
    let (project, poetry) = (table(manifest, &["project"]), table(manifest, &["tool", "poetry"]));
    let flit = table(manifest, &["tool", "flit", "metadata"]);
    match (project, poetry, flit) {
        (Some(project), ..) => {
            let dynamic = strings(project, "dynamic");
            let is_static = !dynamic.iter().any(|key| key == "dependencies");
            Package {
                name: string(project, "name"),
                requirements: is_static.then(|| strings(project, "dependencies")),
                skeleton: skeleton(path, manifest, &dynamic, files),
                sources: sources(manifest),
            }
        }
        (None, Some(poetry), _) => Package {
            name: string(poetry, "name"),
            requirements: None,
            skeleton: skeleton(path, manifest, &[], files),
            sources: Sources::default(),
        },
        (None, None, Some(flit)) => {
            let name = string(flit, "dist-name").or_else(|| string(flit, "module"));
            Package::needing_source(
                name,
                Some(strings(flit, "requires")),
                "Flit reads its version from its code",
            )
        }
        (None, None, None) => from_setup_py(path, manifest, files),
    }
}

fn from_setup_py(path: &str, manifest: &Table, files: &dyn Files) -> Package {
    let read = |name: &str| files.text(&paths::join(path, name));
    if read("setup.cfg").is_some() {
        return Package::needing_source(None, None, "its metadata in setup.cfg is read by setuptools");
    }
    let Some(text) = read("setup.py") else {
        return Package::needing_source(None, None, "only its build backend knows its metadata");
    };
    let Some(call) = setup_call(&text) else {
        return Package::needing_source(None, None, "setup.py computes its metadata");
    };
    Package {
        name: call.name,
        requirements: Some(call.install_requires.unwrap_or_default()),
        skeleton: skeleton(path, manifest, &[], files),
        sources: Sources::default(),
    }
}

fn skeleton(path: &str, manifest: &Table, dynamic: &[String], files: &dyn Files) -> Result<Skeleton, String> {
    let mut manifests = dynamic_metadata(path, manifest, dynamic, files)?;
    manifests.extend(backend::manifests(path, manifest, files)?);
    let setup = files.text(&paths::join(path, "setup.py")).unwrap_or_default();
    let mut named = Vec::new();
    for tool in ["flit", "hatch", "pdm", "poetry", "setuptools"] {
        named.extend(below(manifest, &["tool", tool]));
    }
    named.extend(below(manifest, &["tool", "uv", "build-backend"]));
    named.extend(setup.split(['\'', '"']));
    Skeleton::new(path, manifests, &described(manifest), &named, files)
}

/// The files that setuptools reads dynamic metadata from, or why the metadata is computed. Missing files are skipped, as
/// setuptools does.
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
        let is_of_files = |source: &Table| source.keys().all(|key| key == "file" || key == "content-type");
        let extras = source.values().filter_map(Value::as_table);
        if !is_of_files(source) && (key != "optional-dependencies" || !extras.into_iter().all(is_of_files)) {
            return Err(format!("its `{key}` is read from its code"));
        }
        manifests.extend(
            below(manifest, &["tool", "setuptools", "dynamic", key]).into_iter().map(paths::normalize),
        );
    }
    manifests.retain(|file| files.is_file(&paths::join(path, file)));
    Ok(manifests)
}

/// Readme and licence files that the metadata names, by path or pattern. An installation needs them to exist.
fn described(manifest: &Table) -> Vec<&str> {
    let tables = [&["project"][..], &["tool", "poetry"]];
    let keys = ["readme", "license", "license-files"];
    let all = tables.iter().flat_map(|table| keys.map(|key| [table, &[key][..]].concat()));
    all.flat_map(|keys| below(manifest, &keys)).collect()
}

fn sources(manifest: &Table) -> Sources {
    let mut found = Sources::default();
    for (name, source) in table(manifest, &["tool", "uv", "sources"]).into_iter().flatten() {
        // One source, or several with markers.
        let several = source.as_array().map_or(std::slice::from_ref(source), Vec::as_slice);
        let is_path = |it: &Value| it.get("path").is_some() || it.get("workspace").is_some();
        found.has_paths |= several.iter().any(is_path);
        if !several.iter().all(is_path) {
            found.elsewhere.push(requirement::normalized_name(name));
        }
    }
    found
}

/// All strings at or below `keys`.
fn below<'a>(manifest: &'a Table, keys: &[&str]) -> Vec<&'a str> {
    fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Table(members) => members.values().for_each(|member| collect(member, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Some((last, parents)) = keys.split_last()
        && let Some(value) = table(manifest, parents).and_then(|table| table.get(*last))
    {
        collect(value, &mut found);
    }
    found
}

fn string(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

fn strings(table: &Table, key: &str) -> Vec<String> {
    let items = table.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
