//! A local Python package: its name, its requirements, and the files that its editable installation reads.

mod backend;
mod discovery;
mod poetry;
mod skeleton;
mod sources;
mod uv;

use indexmap::IndexMap;
use toml::{Table, Value};

use crate::files::Files;
use crate::manifests::dependency::{Local, LocalKind};
use crate::manifests::pyproject::{Pyproject, string, strings, table};
use crate::manifests::requirement::{self, normalized_name};
use crate::manifests::setup_py::{SetupCall, setup_call};
use crate::paths;
use crate::tree::Tree;

pub use skeleton::Skeleton;
pub use sources::{Source, Sources, local_path};
pub use uv::{UvSettings, uv_settings, uv_settings_for};

/// The variable of setuptools-scm, which hatch-vcs reads, too.
const SCM_VERSION: &str = "SETUPTOOLS_SCM_PRETEND_VERSION";

/// The metadata of a local package, as its manifests give it. No code of it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Distribution name, where a manifest has it.
    pub name: Option<String>,
    /// Requirements (PEP 508), or `None` if only the build backend can tell them.
    pub requirements: Option<Vec<String>>,
    /// The requirements of each extra, by its normalised name; `None` as above.
    pub extras: Option<IndexMap<String, Vec<String>>>,
    /// Requirements that do not come from the package index.
    pub sources: Sources,
}

/// Reads the manifests of a local dependency.
pub fn metadata(local: &Local, files: &Tree) -> Metadata {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return from_setup_py(&local.path, files) };
    let of = |keys: &[&str]| table(manifest, keys);
    let project = of(&["project"]);
    let poetry = of(&["tool", "poetry"]);
    let flit = of(&["tool", "flit", "metadata"]);
    match (project, poetry, flit) {
        (Some(project), poetry, _) => {
            let dynamic = strings(project, "dynamic");
            let is_static = |key: &str| !dynamic.iter().any(|it| it == key);
            let own = project.contains_key("dependencies") || poetry.is_none();
            let requirements = match poetry.filter(|_| !own) {
                Some(poetry) if local.kind == LocalKind::Virtual => poetry::requirements(poetry),
                Some(_) => None,
                None => Some(strings(project, "dependencies")),
            };
            Metadata {
                name: string(project, "name"),
                requirements: requirements.filter(|_| is_static("dependencies")),
                extras: is_static("optional-dependencies").then(|| extras(project)),
                sources: sources::sources(&local.path, manifest, files),
            }
        }
        (None, Some(poetry), _) => {
            let sources = sources::sources(&local.path, manifest, files);
            // Only the backend knows exactly what it makes of them.
            let is_needed = local.kind == LocalKind::Virtual || !sources.is_empty();
            Metadata {
                name: string(poetry, "name"),
                requirements: poetry::requirements(poetry).filter(|_| is_needed),
                extras: None,
                sources,
            }
        }
        (None, None, Some(flit)) => Metadata {
            name: string(flit, "dist-name").or_else(|| string(flit, "module")),
            requirements: Some(strings(flit, "requires")),
            ..Metadata::default()
        },
        (None, None, None) => from_setup_py(&local.path, files),
    }
}

/// The requirements of a project that installers read, and the name of its manifest. Those that only the build backend can tell
/// are left out.
pub fn written_requirements(local: &Local, files: &Tree) -> (&'static str, Vec<String>) {
    let Pyproject::Manifest(manifest) = &local.pyproject else {
        return ("setup.py", metadata(local, files).requirements.unwrap_or_default());
    };
    let own = metadata(local, files).requirements;
    let is_read = backend::module(manifest).contains("poetry");
    let poetry = || poetry::requirements(table(manifest, &["tool", "poetry"]).filter(|_| is_read)?);
    let has_own = table(manifest, &["project"]).is_some_and(|it| it.contains_key("dependencies"));
    ("pyproject.toml", own.or_else(|| poetry().filter(|_| !has_own)).unwrap_or_default())
}

fn from_setup_py(path: &str, files: &Tree) -> Metadata {
    let Ok(call) = plain_setup(path, files) else { return Metadata::default() };
    let (name, requirements) = (call.name, Some(call.install_requires.unwrap_or_default()));
    Metadata { name, requirements, ..Metadata::default() }
}

fn extras(project: &Table) -> IndexMap<String, Vec<String>> {
    let extras = table(project, &["optional-dependencies"]);
    let all = extras.into_iter().flatten().map(|(name, _)| name);
    all.map(|name| (normalized_name(name), extras.map(|it| strings(it, name)).unwrap_or_default())).collect()
}

/// The files from which a local dependency can be installed before its source is there, or a lowercase fragment that says
/// why the source is needed.
pub fn skeleton(local: &Local, files: &Tree) -> Result<Skeleton, String> {
    let path = &local.path;
    match &local.pyproject {
        Pyproject::Broken(_) => Err("pyproject.toml is not valid TOML".to_owned()),
        Pyproject::Manifest(manifest) => {
            let has = |keys: &[&str]| table(manifest, keys).is_some();
            match table(manifest, &["project"]) {
                Some(project) => from_manifest(path, manifest, &strings(project, "dynamic"), files),
                None if has(&["tool", "poetry"]) => from_manifest(path, manifest, &[], files),
                None if has(&["tool", "flit", "metadata"]) => {
                    Err("Flit reads its version from its code".to_owned())
                }
                None => plain_setup(path, files).and_then(|_| from_manifest(path, manifest, &[], files)),
            }
        }
        Pyproject::Absent => {
            plain_setup(path, files).and_then(|_| from_manifest(path, &Table::new(), &[], files))
        }
    }
}

/// The metadata in setup.py if nothing else has it, or why it cannot be read.
fn plain_setup(path: &str, files: &Tree) -> Result<SetupCall, String> {
    let read = |name: &str| files.text(&paths::join(path, name));
    if read("setup.cfg").is_some() {
        return Err("its metadata in setup.cfg is read by setuptools".to_owned());
    }
    let text = read("setup.py").ok_or("only its build backend knows its metadata")?;
    setup_call(&text).ok_or_else(|| "setup.py computes its metadata".to_owned())
}

/// The files, besides its code, that installing a local dependency reads. Relative to the configuration's directory.
pub fn read_by_installation(local: &Local, files: &Tree) -> Vec<String> {
    let names = match local.kind {
        LocalKind::Virtual => vec!["pyproject.toml".to_owned()],
        _ => skeleton(local, files).map_or_else(|_| read_by_backend(local), |skeleton| skeleton.manifests),
    };
    let paths = names.iter().map(|name| paths::join(&local.path, name));
    paths.filter(|path| files.is_file(path)).collect()
}

/// The Python packages that a local package installs, with their directories relative to the configuration's, if its
/// manifest tells all of them.
pub fn installed_packages(local: &Local, files: &Tree) -> Option<Vec<(String, String)>> {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    let packages = discovery::installed(&local.path, manifest, files)?.into_iter();
    Some(packages.map(|(name, place)| (name, paths::normalize(&paths::join(&local.path, &place)))).collect())
}

/// Why the build backend of a local package certainly refuses it, as a lowercase fragment, and how to fix it.
pub fn refusal(local: &Local, files: &Tree) -> Option<(String, &'static str)> {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    if let Some(found) = discovery::discovered(&local.path, manifest, files) {
        let several = if found.packages.is_empty() { found.modules } else { found.packages };
        if let [first, second, ..] = &several[..] {
            let why = format!(
                "setuptools finds several packages or modules, such as `{first}` and `{second}`, and selects none"
            );
            return Some((
                why,
                "name them in `packages` or `py-modules` of [tool.setuptools], or move them into `src`",
            ));
        }
    }
    if let Some(directory) = discovery::missing_directory(&local.path, manifest, files) {
        let why = format!("[tool.setuptools] names the directory `{directory}`, which does not exist");
        return Some((why, "correct it in `packages` or `package-dir` of [tool.setuptools]"));
    }
    if let Some(missing) = discovery::missing_code(&local.path, manifest, files) {
        return Some(missing);
    }
    let project = table(manifest, &["project"])?;
    let file = |key: &str| {
        let value = project.get(key)?;
        let text = if key == "readme" { value.as_str() } else { None };
        let named = text.or_else(|| value.get("file")?.as_str())?;
        (!files.is_file(&paths::join(&local.path, named))).then(|| named.to_owned())
    };
    // setuptools does without a missing readme or licence.
    let missing = ["readme", "license"].into_iter().find_map(file);
    let missing = missing.filter(|_| backend::is_supported(manifest) && !backend::is_setuptools(manifest));
    missing.map(|file| {
        (format!("its metadata names `{file}`, which does not exist"), "add the file, or remove the key")
    })
}

/// The build backend of a local package, and the first requirement in `tool.poetry.dependencies` that it does not read and no
/// other part of the manifests has; `None` if the backend is Poetry's, or reads requirements from elsewhere.
pub fn unread_by_backend(local: &Local, files: &Tree) -> Option<(String, String)> {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    let backend = backend::module(manifest);
    let has = |name: &str| files.is_file(&paths::join(&local.path, name));
    let is_own = table(manifest, &["build-system"]).is_some_and(|it| it.contains_key("backend-path"));
    let project = table(manifest, &["project"]);
    let is_dynamic = project.is_some_and(|it| strings(it, "dynamic").iter().any(|key| key == "dependencies"));
    let is_elsewhere = backend::is_setuptools(manifest) && (has("setup.py") || has("setup.cfg"));
    if local.kind != LocalKind::Package || backend.contains("poetry") || is_own || is_dynamic || is_elsewhere
    {
        return None;
    }
    let own: Vec<String> = project.map(|it| strings(it, "dependencies")).unwrap_or_default();
    let own: Vec<String> = own.iter().filter_map(|text| requirement::name(text)).collect();
    let listed = table(manifest, &["tool", "poetry", "dependencies"])?;
    let is_optional = |value: &Value| value.get("optional").and_then(Value::as_bool) == Some(true);
    let mut unread = listed.iter().filter(|(name, value)| {
        *name != "python" && !is_optional(value) && !own.contains(&normalized_name(name))
    });
    unread.next().map(|(name, _)| (backend, name.clone()))
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

fn from_manifest(path: &str, manifest: &Table, dynamic: &[String], files: &Tree) -> Result<Skeleton, String> {
    let mut manifests = dynamic_metadata(path, manifest, dynamic, files)?;
    manifests.extend(backend::manifests(path, manifest, files)?);
    let setup = files.text(&paths::join(path, "setup.py")).unwrap_or_default();
    let mut named = Vec::new();
    for tool in ["flit", "hatch", "pdm", "poetry", "setuptools"] {
        named.extend(below(manifest, &["tool", tool]));
    }
    named.extend(below(manifest, &["tool", "uv", "build-backend"]));
    named.extend(setup.split(['\'', '"']));
    let reach = discovery::reach(path, manifest, files);
    let reach = reach.or_else(|| Some(vec![discovery::named_after_project(path, manifest, files)?]));
    Skeleton::new(path, manifests, &described(manifest), &named, reach.as_deref(), files)
}

/// The indexes that Poetry and PDM take packages from, beside the default one.
pub fn other_indexes(local: &Local) -> Vec<String> {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return Vec::new() };
    let sources = ["poetry", "pdm"].iter().filter_map(|tool| table(manifest, &["tool", tool])?.get("source"));
    let sources = sources.filter_map(Value::as_array).flatten();
    sources.filter_map(|source| string(source.as_table()?, "url")).collect()
}

/// The variable by which the back end of a project takes its version, which it would otherwise read from the history of
/// git.
pub fn version_variable(local: &Local, files: &Tree) -> Option<&'static str> {
    let setup = files.text(&paths::join(&local.path, "setup.py")).unwrap_or_default();
    if setup.contains("use_scm_version") {
        return Some(SCM_VERSION);
    }
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    variable_in(manifest)
}

fn variable_in(manifest: &Table) -> Option<&'static str> {
    let of = |path: &[&str]| table(manifest, path);
    let project = of(&["project"]);
    let is_dynamic = project.is_some_and(|it| strings(it, "dynamic").iter().any(|key| key == "version"));
    let source = |tool: &str| string(of(&["tool", tool, "version"])?, "source");
    match () {
        () if !is_dynamic => None,
        () if source("hatch").as_deref() == Some("vcs") || of(&["tool", "setuptools_scm"]).is_some() => {
            Some(SCM_VERSION)
        }
        () if source("pdm").as_deref() == Some("scm") => Some("PDM_BUILD_SCM_VERSION"),
        () => None,
    }
}

/// The files that setuptools reads dynamic metadata from, or why the metadata is computed. Missing files are skipped, as
/// setuptools does.
fn dynamic_metadata(
    path: &str,
    manifest: &Table,
    dynamic: &[String],
    files: &Tree,
) -> Result<Vec<String>, String> {
    let mut manifests = Vec::new();
    for key in dynamic {
        if key == "version" && variable_in(manifest).is_some() {
            continue;
        }
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
