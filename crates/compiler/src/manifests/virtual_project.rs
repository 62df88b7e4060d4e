//! Projects that are not installed: their requirements are, and their code is imported from its directory. uv treats a
//! project this way if it has no build system, or sets `tool.uv.package = false`; Poetry, if it sets `package-mode = false`.

use toml::{Table, Value};

use super::pyproject::{string, strings, table};
use super::setup_py;
use super::source_tree::has_python;
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// The directories that the code of the project at `path` is imported from, or `None` if the project is installed. They
/// are those that setuptools would add, which builds such a project otherwise.
pub fn import_roots(path: &str, manifest: &Table, files: &Tree) -> Option<Vec<String>> {
    if !is_virtual(path, manifest, files) {
        return None;
    }
    let setuptools = table(manifest, &["tool", "setuptools"]);
    let directories = setuptools.and_then(|it| it.get("package-dir")).and_then(Value::as_table);
    // A package with a directory of its own cannot be imported from anywhere.
    if directories.is_some_and(|all| all.keys().any(|package| !package.is_empty())) {
        return None;
    }
    let own = directories.and_then(|all| string(all, "")).into_iter();
    let find = table(manifest, &["tool", "setuptools", "packages", "find"]);
    let mut roots: Vec<String> = own.chain(find.iter().flat_map(|find| strings(find, "where"))).collect();
    let is_listed = setuptools.is_some_and(|it| {
        let is_list = |key: &str| it.get(key).is_some_and(Value::is_array);
        is_list("packages") || is_list("py-modules")
    });
    let src = paths::join(path, "src");
    if roots.is_empty() && !is_listed && has_python(&src, files) {
        roots.push("src".to_owned());
    }
    if roots.is_empty() || files.is_file(&paths::join(&src, "__init__.py")) {
        roots.push(".".to_owned());
    }
    Some(roots.iter().map(|root| paths::join(path, root)).collect())
}

fn is_virtual(path: &str, manifest: &Table, files: &Tree) -> bool {
    let project = table(manifest, &["project"]);
    let is_static = |key: &str| project.is_none_or(|it| !strings(it, "dynamic").iter().any(|it| it == key));
    let is_project = project.is_some() || table(manifest, &["tool", "poetry"]).is_some();
    if !is_project || !is_static("dependencies") {
        return false;
    }
    let is_package = |tool: &str, key: &str| table(manifest, &["tool", tool])?.get(key)?.as_bool();
    let has_plugins = project.is_some_and(|it| it.contains_key("entry-points"));
    let is_built = || manifest.contains_key("build-system") || has_plugins || is_set_up(path, files);
    // The build backend of Poetry refuses such a project, whatever uv's settings are.
    is_package("poetry", "package-mode") == Some(false)
        || !is_package("uv", "package").unwrap_or_else(is_built)
}

/// Whether setuptools has instructions of its own there.
fn is_set_up(path: &str, files: &Tree) -> bool {
    let settings = files.text(&paths::join(path, "setup.cfg")).unwrap_or_default();
    let is_section = |line: &str| line.starts_with("[options") || line.starts_with("[metadata");
    setup_py::is_present(path, files) || settings.lines().any(is_section)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;
    use crate::manifests::pyproject::read;

    #[test]
    fn import_roots_are_those_of_setuptools() {
        let project = "[project]\nname = 'a'\n";
        for (settings, others, roots) in [
            ("", &["agent.py", "data/x.csv"][..], Some(&["lib"][..])),
            ("", &["src/agent/x.py"], Some(&["lib/src"])),
            ("", &["src/__init__.py", "src/agent.py"], Some(&["lib/src", "lib"])),
            ("", &["src/app.tsx", "agent.py"], Some(&["lib"])),
            ("[tool.setuptools]\npackages = ['one']", &["src/x.py"], Some(&["lib"])),
            ("[tool.setuptools]\npackage-dir = {'' = 'python'}", &[], Some(&["lib/python"])),
            ("[tool.setuptools.packages.find]\nwhere = ['a', 'b']", &[], Some(&["lib/a", "lib/b"])),
            ("[tool.setuptools]\npackage-dir = {one = 'two'}", &[], None),
            ("", &["setup.py"], None),
            ("[project.entry-points.x]\ny = 'z'", &[], None),
            ("[tool.uv]\npackage = true", &[], None),
            ("[build-system]\nrequires = []", &[], None),
            ("[build-system]\nrequires = []\n[tool.uv]\npackage = false", &[], Some(&["lib"])),
            ("[build-system]\nrequires = []\n[tool.poetry]\npackage-mode = false", &[], Some(&["lib"])),
            ("[build-system]\nrequires = []\n[tool.poetry]\npackage-mode = true", &[], None),
        ] {
            let others: Vec<_> = others.iter().map(|name| format!("lib/{name}")).collect();
            let files = Tree::new(MemoryFiles::new(others.iter().map(|name| (name.as_str(), "setup()"))));
            let found = import_roots("lib", &read(&(project.to_owned() + settings)).unwrap(), &files);
            assert_eq!(found.as_deref().map(|it| it.join(" ")), roots.map(|it| it.join(" ")), "{settings}");
        }
        let dynamic = read("[project]\nname = 'a'\ndynamic = ['dependencies']").unwrap();
        assert_eq!(import_roots("lib", &dynamic, &Tree::new(MemoryFiles::default())), None);
    }
}
