//! The code that a build backend selects: by its settings, or by the layout of the project.

use toml::{Table, Value};

use super::backend::{HATCHLING, is_setuptools, module};
use crate::files::{FileKind, Files};
use crate::manifests::dockerignore::Ignore;
use crate::manifests::pyproject::{string, strings, table};
use crate::manifests::source_tree::has_python;
use crate::manifests::{glob, glob_set};
use crate::paths;
use crate::tree::Tree;

/// Directories that setuptools does not take for packages where it has no settings and no `src`.
const EXCLUDED_PACKAGES: &[&str] = &[
    "benchmark",
    "benchmarks",
    "bin",
    "build",
    "changelog",
    "ci",
    "debian",
    "doc",
    "docs",
    "documentation",
    "example",
    "examples",
    "exercise",
    "exercises",
    "htmlcov",
    "manpages",
    "news",
    "newsfragments",
    "python",
    "scripts",
    "test",
    "tests",
    "tools",
    "unit_test",
    "unit_tests",
    "util",
    "utils",
];

/// Modules that it does not take for code of the project.
const EXCLUDED_MODULES: &[&str] = &[
    "benchmark",
    "benchmarks",
    "build",
    "conanfile",
    "conftest",
    "dodo",
    "example",
    "examples",
    "exercise",
    "exercises",
    "fabfile",
    "manage",
    "noxfile",
    "pavement",
    "setup",
    "tasks",
    "test",
    "tests",
    "toxfile",
];

/// Code that setuptools finds in a project without settings and without `src`.
pub(super) struct Discovered {
    /// Top-level directories with Python code.
    pub(super) packages: Vec<String>,
    /// Files beside them, which count where there are no packages.
    pub(super) modules: Vec<String>,
}

/// The code that setuptools discovers in the project at `path`; `None` if its settings name the code.
pub(super) fn discovered(path: &str, manifest: &Table, files: &Tree) -> Option<Discovered> {
    let settings = table(manifest, &["tool", "setuptools"]);
    let is_set = |key: &str| settings.is_some_and(|it| it.contains_key(key));
    let has = |name: &str| files.kind(&paths::join(path, name)).is_some();
    let is_told = ["packages", "py-modules", "package-dir", "ext-modules"].into_iter().any(is_set);
    if !is_setuptools(manifest) || is_told || ["setup.py", "setup.cfg", "src"].into_iter().any(has) {
        return None;
    }
    let ignore = files.text(&paths::join(path, ".dockerignore"));
    let ignore = ignore.and_then(|text| Ignore::parse(&text).ok()).unwrap_or_default();
    let mut entries = files.list(path);
    entries.retain(|(name, _)| !ignore.excludes(name));
    let names = |wanted: FileKind| {
        entries.iter().filter(move |(_, kind)| *kind == wanted).map(|(name, _)| name.as_str())
    };
    let is_package = |name: &&str| {
        let place = || paths::join(path, name);
        let is_environment = || files.is_file(&paths::join(&place(), "pyvenv.cfg"));
        is_identifier(name)
            && !EXCLUDED_PACKAGES.contains(name)
            && !is_environment()
            && has_python(&place(), files)
    };
    let is_module = |name: &&str| is_identifier(name) && !EXCLUDED_MODULES.contains(name);
    let modules = names(FileKind::File).filter_map(|name| name.strip_suffix(".py")).filter(is_module);
    Some(Discovered {
        packages: names(FileKind::Directory).filter(is_package).map(str::to_owned).collect(),
        modules: modules.map(str::to_owned).collect(),
    })
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The first directory that the settings of setuptools name, and that does not exist.
pub(super) fn missing_directory(path: &str, manifest: &Table, files: &Tree) -> Option<String> {
    let settings = table(manifest, &["tool", "setuptools"]).filter(|_| is_setuptools(manifest))?;
    if has_setup_file(path, files) {
        return None;
    }
    let packages = listed(settings).into_iter().map(|(_, directory)| directory);
    let roots = table(settings, &["packages", "find"]).map(|find| strings(find, "where")).unwrap_or_default();
    // A directory outside of the project may be one that must not be read.
    let mut inside = packages.chain(roots).filter(|name| !name.starts_with(".."));
    inside.find(|name| !files.is_directory(&paths::join(path, name)))
}

/// The packages of the project at `path` with their directories in it, if the backend installs them from there and nothing
/// else.
pub(super) fn installed(path: &str, manifest: &Table, files: &Tree) -> Option<Vec<(String, String)>> {
    if is_setuptools(manifest) {
        return installed_by_setuptools(path, manifest, files);
    }
    let hatch = table(manifest, &["tool", "hatch", "build"]);
    let wheel = hatch.and_then(|it| table(it, &["targets", "wheel"]));
    let moves =
        |it: &Table| ["sources", "dev-mode-dirs", "force-include"].iter().any(|key| it.contains_key(*key));
    if [hatch, wheel].into_iter().flatten().any(moves) {
        return None;
    }
    let places = reach(path, manifest, files)?.into_iter();
    Some(places.map(|place| (paths::file_name(&place).to_owned(), place)).collect())
}

fn installed_by_setuptools(path: &str, manifest: &Table, files: &Tree) -> Option<Vec<(String, String)>> {
    if let Some(Discovered { packages, .. }) = discovered(path, manifest, files) {
        return Some(packages.into_iter().map(|name| (name.clone(), name)).collect());
    }
    let settings = table(manifest, &["tool", "setuptools"])?;
    let has_more = ["py-modules", "ext-modules"].iter().any(|key| settings.contains_key(*key));
    let is_told = settings.get("packages")?.is_array() && !has_more && !has_setup_file(path, files);
    is_told.then(|| listed(settings))
}

/// Whether the project at `path` has settings of setuptools outside of its pyproject.toml.
fn has_setup_file(path: &str, files: &Tree) -> bool {
    ["setup.py", "setup.cfg"].iter().any(|name| files.is_file(&paths::join(path, name)))
}

/// The packages that the settings of setuptools list, and their directories.
fn listed(settings: &Table) -> Vec<(String, String)> {
    let places = table(settings, &["package-dir"]);
    let place = |name: &str| places.and_then(|places| string(places, name));
    let directory = |package: &str| {
        let dots = package.match_indices('.').map(|(at, _)| at).rev();
        let around = [package.len()].into_iter().chain(dots);
        let named = around.into_iter().find_map(|at| Some((place(&package[..at])?, &package[at..])));
        let (base, rest) = named.unwrap_or((place("").unwrap_or_else(|| ".".to_owned()), package));
        paths::normalize(&paths::join(&base, rest.replace('.', "/").trim_start_matches('/')))
    };
    strings(settings, "packages").into_iter().map(|package| (package.clone(), directory(&package))).collect()
}

/// Whether hatchling finds the code of the project at `path` by the name `name`, if it has no settings.
fn finds_by_name(path: &str, name: &str, files: &Tree) -> bool {
    let wanted = plain(name);
    let is_meant = |name: &str| plain(name) == wanted;
    let list = |directory: &str| files.list(&paths::join(path, directory));
    let mut roots = vec![".".to_owned()];
    roots
        .extend(list(".").into_iter().filter(|(_, kind)| *kind == FileKind::Directory).map(|(name, _)| name));
    roots.iter().any(|root| {
        list(root).iter().any(|(name, kind)| match kind {
            FileKind::File => name.strip_suffix(".py").is_some_and(is_meant),
            FileKind::Directory => {
                let code = paths::join(path, &format!("{root}/{name}/__init__.py"));
                is_meant(name) && files.is_file(&code)
            }
        })
    })
}

/// Why the backend of the project at `path` finds no code by the name of the project, as a lowercase fragment, and where to
/// name its directory. Only backends without other settings are known: as flit_core 3.12, hatchling 1.27, poetry-core 2.2 and
/// uv_build 0.9 look for it.
pub(super) fn missing_code(path: &str, manifest: &Table, files: &Tree) -> Option<(String, &'static str)> {
    let backend = module(manifest);
    let tool = |keys: &[&str]| table(manifest, &[&["tool"], keys].concat());
    let project = table(manifest, &["project"]);
    let poetry = tool(&["poetry"]);
    let name = project.and_then(|it| string(it, "name")).or_else(|| string(poetry?, "name"))?;
    let is_missing_beside = || {
        let names = ["", "src"].map(|root| files.list(&paths::join(path, root)));
        let stem = |entry: &str| plain(entry.strip_suffix(".py").unwrap_or(entry));
        !names.iter().flatten().any(|(entry, _)| stem(entry) == plain(&name))
    };
    match backend.as_str() {
        HATCHLING => {
            let has_settings =
                tool(&["hatch", "build"]).is_some() || files.is_file(&paths::join(path, "hatch.toml"));
            (project.is_some() && !has_settings && !finds_by_name(path, &name, files)).then(|| {
                let why = format!("hatchling finds no package with the project's name `{name}`");
                (why, "name its directory in `packages` of [tool.hatch.build.targets.wheel]")
            })
        }
        "uv_build" => {
            let has_settings = tool(&["uv", "build-backend"]).is_some();
            let file = format!("src/{}/__init__.py", plain(&name));
            (!has_settings && !files.is_file(&paths::join(path, &file))).then(|| {
                let why = format!("uv_build looks for `{file}`, which does not exist");
                (why, "name the package in `module-name` of [tool.uv.build-backend], and its directory in `module-root`")
            })
        }
        "poetry.core.masonry.api" => {
            let has_settings =
                poetry.is_some_and(|it| ["packages", "package-mode"].iter().any(|key| it.contains_key(*key)));
            (!has_settings && is_missing_beside()).then(|| {
                let why = format!("poetry-core finds no package with the project's name `{name}`");
                (why, "name its directory in `packages` of [tool.poetry]")
            })
        }
        "flit_core.buildapi" => (tool(&["flit"]).is_none() && is_missing_beside()).then(|| {
            let why = format!("flit finds no module with the project's name `{name}`");
            (why, "name it in `name` of [tool.flit.module]")
        }),
        _ => None,
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

/// The package or module with the name of the project at `path`, if its backend looks for that and has no other settings.
pub(super) fn named_after_project(path: &str, manifest: &Table, files: &Tree) -> Option<String> {
    let backend = module(manifest);
    let tool = match backend.as_str() {
        HATCHLING if !files.is_file(&paths::join(path, "hatch.toml")) => "hatch",
        "flit_core.buildapi" => "flit",
        "poetry.core.masonry.api" => "poetry",
        _ => return None,
    };
    let settings = table(manifest, &["tool", tool]);
    if settings.is_some_and(|it| ["build", "module", "packages"].iter().any(|key| it.contains_key(*key))) {
        return None;
    }
    let project = table(manifest, &["project"]).or(settings)?;
    let name = plain(&string(project, "name")?);
    let places = ["src", "."].map(|root| paths::normalize(&paths::join(root, &name)));
    places.into_iter().find(|place| files.is_file(&paths::join(path, &format!("{place}/__init__.py"))))
}

/// The directories and files that the backend of the project at `path` selects code from, or `None` if that is not known.
pub(super) fn reach(path: &str, manifest: &Table, files: &Tree) -> Option<Vec<String>> {
    match module(manifest).as_str() {
        HATCHLING => {
            let has_own_file = files.is_file(&paths::join(path, "hatch.toml"));
            let wheel =
                table(manifest, &["tool", "hatch", "build", "targets", "wheel"]).filter(|_| !has_own_file)?;
            let only = ["packages", "only-include"].iter().flat_map(|key| strings(wheel, key));
            fixed(only.collect())
        }
        "poetry.core.masonry.api" => {
            let packages = table(manifest, &["tool", "poetry"])?.get("packages")?.as_array()?;
            let place = |package: &Value| {
                let package = package.as_table()?;
                let include = string(package, "include")?;
                Some(
                    string(package, "from")
                        .map_or_else(|| include.clone(), |from| paths::join(&from, &include)),
                )
            };
            fixed(packages.iter().map(place).collect::<Option<_>>()?)
        }
        "uv_build" => {
            let is_told = table(manifest, &["tool", "uv", "build-backend"]).is_some();
            let src = "src".to_owned();
            (!is_told && files.is_directory(&paths::join(path, &src))).then(|| vec![src])
        }
        _ if is_setuptools(manifest) => by_setuptools(path, manifest, files),
        _ => None,
    }
}

/// `places`, unless there are none or some are patterns.
fn fixed(places: Vec<String>) -> Option<Vec<String>> {
    let is_pattern = |place: &String| place.contains(['*', '?', '[']);
    (!places.is_empty() && !places.iter().any(is_pattern))
        .then(|| places.iter().map(|place| paths::normalize(place.trim_start_matches('/'))).collect())
}

fn by_setuptools(path: &str, manifest: &Table, files: &Tree) -> Option<Vec<String>> {
    let has = |name: &str| files.kind(&paths::join(path, name)).is_some();
    if has("setup.py") || has("setup.cfg") {
        return None;
    }
    if let Some(Discovered { packages, modules }) = discovered(path, manifest, files) {
        let modules = modules.iter().map(|module| format!("{module}.py"));
        return Some(packages.into_iter().chain(modules).collect());
    }
    let empty = Table::new();
    let settings = table(manifest, &["tool", "setuptools"]).unwrap_or(&empty);
    if settings.contains_key("package-dir") || settings.contains_key("ext-modules") {
        return None;
    }
    let find = table(settings, &["packages", "find"]);
    if let Some(roots) = find.map(|find| strings(find, "where")).filter(|roots| !roots.is_empty()) {
        return fixed(roots);
    }
    if let Some(find) = find {
        let include = strings(find, "include");
        let heads: Option<Vec<_>> = include.iter().map(|it| glob(it.split('.').next()?, true)).collect();
        let heads = glob_set(heads.filter(|all| !all.is_empty())?)?;
        let directories = files.list(path).into_iter().filter(|(_, kind)| *kind == FileKind::Directory);
        let is_included = |name: &String| heads.is_match(name);
        return Some(directories.map(|(name, _)| name).filter(is_included).collect());
    }
    let is_list = |key: &str| settings.get(key).is_some_and(Value::is_array);
    if is_list("packages") || is_list("py-modules") {
        let packages = strings(settings, "packages").into_iter().map(|name| name.replace('.', "/"));
        let modules = strings(settings, "py-modules").into_iter().map(|name| name.replace('.', "/") + ".py");
        return Some(packages.chain(modules).collect());
    }
    has("src").then(|| vec!["src".to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;
    use crate::manifests::pyproject::read;

    #[test]
    fn backends_select_code() {
        let tree = ["app/__init__.py", "app2/x.py", "tests/a.py", "data/x.csv", "agent.py", "conftest.py"];
        let src = ["src/app/__init__.py", "tests/a.py"];
        let hatch = "[build-system]\nbuild-backend = 'hatchling.build'\n";
        let poetry = "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n";
        let too_complex = format!("{}a{}", "{".repeat(300), "}".repeat(300));
        for (text, tree, reached) in [
            ("", &tree[..], Some("app app2 agent.py")),
            ("", &src, Some("src")),
            ("[tool.setuptools]\npackages = ['app', 'app.sub']", &tree, Some("app app/sub")),
            ("[tool.setuptools]\npy-modules = ['agent']", &tree, Some("agent.py")),
            ("[tool.setuptools.packages.find]\ninclude = ['app*']", &tree, Some("app app2")),
            (&format!("[tool.setuptools.packages.find]\ninclude = ['{too_complex}']"), &tree, None),
            ("[tool.setuptools.packages.find]\nwhere = ['lib']", &tree, Some("lib")),
            ("[tool.setuptools.packages.find]\nexclude = ['x']", &tree, None),
            ("[tool.setuptools]\npackage-dir = {a = 'b'}", &tree, None),
            (
                &format!("{hatch}[tool.hatch.build.targets.wheel]\npackages = ['/src/app']"),
                &src,
                Some("src/app"),
            ),
            (&format!("{hatch}[tool.hatch.build.targets.wheel]\npackages = ['*']"), &src, None),
            (hatch, &src, None),
            (
                &format!("{poetry}[tool.poetry]\npackages = [{{include = 'app', from = 'src'}}]"),
                &src,
                Some("src/app"),
            ),
            (poetry, &src, None),
            ("[build-system]\nbuild-backend = 'uv_build'", &src, Some("src")),
        ] {
            let files = Tree::new(MemoryFiles::new(tree.iter().map(|path| (*path, ""))));
            let found = reach(".", &read(text).unwrap(), &files).map(|it| it.join(" "));
            assert_eq!(found.as_deref(), reached, "{text}");
        }
    }

    #[test]
    fn manifests_tell_what_is_installed() {
        let hatch = "[build-system]\nbuild-backend = 'hatchling.build'\n[tool.hatch.build.targets.wheel]\n";
        let poetry = "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n[tool.poetry]\n";
        let setuptools = "[tool.setuptools]\n";
        let files = Tree::new(MemoryFiles::new([("app/__init__.py", "")]));
        for (start, text, expected) in [
            ("", "", Some("app=app")),
            (setuptools, "packages = ['app', 'app.x']", Some("app=app app.x=app/x")),
            (
                setuptools,
                "packages = ['a', 'a.b', 'c']\npackage-dir = {a = 'src/d', '' = 'lib'}",
                Some("a=src/d a.b=src/d/b c=lib/c"),
            ),
            (setuptools, "packages = ['app']\npy-modules = ['x']", None),
            (setuptools, "packages.find = {}", None),
            (hatch, "packages = ['src/app']", Some("app=src/app")),
            (hatch, "packages = ['src/app']\nsources = ['src/app']", None),
            (hatch, "packages = ['src/app']\ndev-mode-dirs = ['src/app']", None),
            (poetry, "packages = [{include = 'app', from = 'src'}]", Some("app=src/app")),
            (poetry, "", None),
        ] {
            let manifest = read(&format!("{start}{text}")).unwrap();
            let found = installed(".", &manifest, &files);
            let found = found.map(|all| {
                all.iter().map(|(name, place)| format!("{name}={place}")).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), expected, "{start}{text}");
        }
    }

    #[test]
    fn hatchling_looks_for_the_name() {
        for (path, is_found) in [
            ("My_Agent/__init__.py", true),
            ("src/my_agent/__init__.py", true),
            ("space/my_agent/__init__.py", true),
            ("my_agent.py", true),
            ("my_agent/graph.py", false),
            ("src/agent/__init__.py", false),
        ] {
            assert_eq!(
                finds_by_name(".", "my-agent", &Tree::new(MemoryFiles::new([(path, "")]))),
                is_found,
                "{path}"
            );
        }
    }
}
