//! uv workspaces: the root, whose pyproject.toml has `[tool.uv.workspace]`, and the directories of the members.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use toml::{Table, Value};

use super::pyproject::{Pyproject, table};
use super::requirement::normalized_name;
use super::{glob, glob_set};
use crate::files::{FileKind, Files};
use crate::paths;
use crate::tree::Tree;

/// Maximum number of levels that `**` descends.
const MAX_DEPTH: usize = 8;

/// Directories that hold no members.
const FOREIGN: &[&str] = &["__pycache__", "node_modules", "venv"];

/// A workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Workspace {
    /// The directory of the root, relative to the configuration's.
    pub root: String,
    /// The pyproject.toml of the root.
    pub manifest: Rc<Table>,
    /// Its members, by path. The root is one if it is a project.
    pub members: Vec<Member>,
}

/// A project in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The normalised name of its distribution.
    pub name: String,
    /// Its directory, relative to the configuration's.
    pub path: String,
}

impl Workspace {
    /// The workspace that the project in `directory` belongs to: its own, or that of the closest pyproject.toml above it,
    /// if the project is a member there.
    pub fn of(directory: &str, files: &Tree) -> Option<Self> {
        if let Some(own) = Self::at(directory, files) {
            return Some(own);
        }
        let levels = files.directory().len();
        let mut above = paths::join(directory, "..");
        // An absolute path is an error that others report.
        while paths::levels_up(&above) <= levels && !directory.starts_with('/') {
            if files.is_file(&paths::join(&above, "pyproject.toml")) {
                let is_member = |it: &Self| it.members.iter().any(|member| member.path == directory);
                return Self::at(&above, files).filter(is_member);
            }
            above = paths::join(&above, "..");
        }
        None
    }

    /// The workspace whose root is `root`.
    pub fn at(root: &str, files: &Tree) -> Option<Self> {
        let Pyproject::Manifest(manifest) = Pyproject::read(root, files) else { return None };
        let workspace = table(&manifest, &["tool", "uv", "workspace"])?;
        let patterns = |key: &str| {
            let patterns = workspace.get(key).and_then(Value::as_array).into_iter().flatten();
            patterns.filter_map(Value::as_str).map(paths::normalize).collect::<Vec<_>>()
        };
        // Unlike in a pattern of members, a `*` crosses directories here.
        let excluded = glob_set(patterns("exclude").iter().filter_map(|pattern| glob(pattern, true)));
        let excluded = excluded.unwrap_or_default();
        let mut directories = expanded(root, &patterns("members"), files);
        directories.retain(|directory| !excluded.is_match(directory));
        directories.insert(".".to_owned());
        let place = |directory: String| paths::shortened(&paths::join(root, &directory), &files.directory());
        let members = directories.into_iter().filter_map(|it| Member::read(place(it), files)).collect();
        Some(Self { root: root.to_owned(), members, manifest })
    }

    /// The member whose distribution has this normalised name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl Member {
    /// The project at `path`, if it has a name and uv manages it.
    fn read(path: String, files: &Tree) -> Option<Self> {
        let Pyproject::Manifest(manifest) = Pyproject::read(&path, files) else { return None };
        let uv = table(&manifest, &["tool", "uv"]);
        let is_managed = uv.and_then(|uv| uv.get("managed")).and_then(Value::as_bool) != Some(false);
        let name = table(&manifest, &["project"])?.get("name")?.as_str()?;
        is_managed.then(|| Self { name: normalized_name(name), path })
    }
}

/// The directories with a pyproject.toml that `patterns` match, relative to `root` as the patterns are.
fn expanded(root: &str, patterns: &[String], files: &Tree) -> BTreeSet<String> {
    // All patterns below the same directory are searched together.
    let mut starts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for pattern in patterns {
        let fixed = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[']));
        let start = paths::normalize(&fixed.collect::<Vec<_>>().join("/"));
        starts.entry(start).or_default().push(pattern);
    }
    starts.into_iter().flat_map(|(start, patterns)| below(start, &patterns, root, files)).collect()
}

/// Those in the directory `start`.
fn below(start: String, patterns: &[&str], root: &str, files: &Tree) -> Vec<String> {
    let depth = |pattern: &&str| if pattern.contains("**") { MAX_DEPTH } else { pattern.split('/').count() };
    let depth = patterns.iter().map(depth).max().unwrap_or_default();
    let globs = glob_set(patterns.iter().filter_map(|pattern| glob(pattern, false))).unwrap_or_default();
    let (mut open, mut found) = (vec![start], Vec::new());
    while let Some(directory) = open.pop() {
        let place = paths::join(root, &directory);
        let level = if directory == "." { 0 } else { directory.split('/').count() };
        if level < depth {
            open.extend(subdirectories(&place, files).iter().map(|name| paths::join(&directory, name)));
        }
        if files.is_file(&paths::join(&place, "pyproject.toml")) && globs.is_match(&directory) {
            found.push(directory);
        }
    }
    found
}

fn subdirectories(place: &str, files: &Tree) -> Vec<String> {
    let own = files.list(place).into_iter().filter(|(_, kind)| *kind == FileKind::Directory);
    let all = own.map(|(name, _)| name).chain(files.linked_directories(place));
    all.filter(|name| !name.starts_with('.') && !FOREIGN.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    const ROOT: &str = "[project]\nname = 'Root_A'\n[tool.uv.workspace]\nmembers = ['./packages/*', 'apps/**', \
                        '../sibling']\nexclude = ['packages/old*']";

    /// The configuration lies in the directory `project`, which is below the root.
    fn tree() -> Tree {
        Tree::new(MemoryFiles::new([
            ("../pyproject.toml", ROOT),
            ("../packages/One.X/pyproject.toml", "[project]\nname = 'One.X'"),
            ("../packages/old/pyproject.toml", "[project]\nname = 'old'"),
            ("../packages/other/pyproject.toml", "[project]\nname = 'other'\n[tool.uv]\nmanaged = false"),
            ("../packages/plain/readme.md", ""),
            ("../packages/one/two/pyproject.toml", "[project]\nname = 'too-deep'"),
            ("../apps/web/api/pyproject.toml", "[project]\nname = 'api'"),
            ("../../sibling/pyproject.toml", "[project]\nname = 'sibling'"),
            ("../elsewhere/pyproject.toml", "[project]\nname = 'elsewhere'"),
        ]))
    }

    #[test]
    fn members_are_found_by_patterns() {
        let workspace = Workspace::at("..", &tree()).unwrap();
        let found: Vec<_> = workspace.members.iter().map(|it| (&*it.name, &*it.path)).collect();
        assert_eq!(
            found,
            [
                ("root-a", ".."),
                ("sibling", "../../sibling"),
                ("api", "../apps/web/api"),
                ("one-x", "../packages/One.X"),
            ]
        );
        assert_eq!(workspace.member("one-x").unwrap().path, "../packages/One.X");
    }

    #[test]
    fn members_know_their_workspace() {
        let root = |directory: &str| Workspace::of(directory, &tree()).map(|it| it.root);
        assert_eq!(root("..").as_deref(), Some(".."));
        assert_eq!(root("../packages/One.X").as_deref(), Some(".."));
        for outside in ["../packages/old", "../elsewhere", "../../sibling/x", ".", "/srv/x"] {
            assert_eq!(root(outside), None, "{outside}");
        }
    }

    #[test]
    fn the_configurations_own_directory_is_a_member() {
        // A tree in memory does not know that `../project` is its own directory.
        let files = Tree::new(MemoryFiles::new([
            ("../pyproject.toml", "[tool.uv.workspace]\nmembers = ['project', 'lib']"),
            ("../project/pyproject.toml", ""),
            ("pyproject.toml", "[project]\nname = 'agent'"),
            ("../lib/pyproject.toml", "[project]\nname = 'lib'"),
        ]));
        let workspace = Workspace::of(".", &files).unwrap();
        let paths: Vec<_> = workspace.members.iter().map(|it| &*it.path).collect();
        assert_eq!((&*workspace.root, paths), ("..", vec!["../lib", "."]));
    }
}
