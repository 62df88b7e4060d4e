//! JavaScript workspaces: packages below one root, which their package manager installs together.

use globset::GlobSet;
use serde_json::Value;

use super::dockerignore::Ignore;
use super::package_json::{self, Manifest};
use super::package_manager::{Manager, PNPM_WORKSPACE};
use super::{Unreadable, glob, glob_set, yaml};
use crate::files::{FileKind, Files};
use crate::paths;
use crate::tree::Tree;

/// Maximum number of directories that a pattern of members can have, without that of the members.
const MAX_DEPTH: usize = 16;

/// Prefixes of versions that only a workspace defines.
const OF_WORKSPACE: &[&str] = &["workspace:", "catalog:"];

/// A workspace.
#[derive(Debug)]
pub struct Workspace {
    /// The directory of its root, relative to the configuration's: `.`, or a path of `..`.
    pub root: String,
    /// The directories of its members without the root, relative to the configuration's, sorted.
    pub members: Vec<String>,
}

/// The workspaces of a directory and those around it.
#[derive(Debug, Default)]
pub struct Search {
    /// The innermost workspace that lists the directory and has all packages of a workspace that it requires, or else the
    /// innermost one that lists it.
    pub found: Option<Workspace>,
    /// The innermost workspace around the directory that does not list it.
    pub passed: Option<Workspace>,
    /// The innermost workspace that lists it, that it does not need, and that a `.dockerignore` excludes from images.
    pub excluded: Option<Workspace>,
}

/// Searches the directory `home`, whose package.json is `own`, and those above it.
pub fn search(own: &Manifest, home: &str, files: &Tree) -> Result<Search, Unreadable> {
    let mut search = Search::default();
    let directory = paths::components(home, &files.directory());
    for up in 0..=directory.len() {
        let root = paths::join(home, &"../".repeat(up));
        let patterns = patterns(&root, files)?;
        if patterns.is_empty() {
            continue;
        }
        let project = directory[directory.len() - up..].join("/");
        let members = Members::new(&patterns).find(&root, files);
        let is_listed = up == 0 || members.contains(&project);
        let members =
            members.iter().map(|member| from_home(&paths::join(&root, member), home, files)).collect();
        let is_excluded = up > 0 && is_excluded(&root, &project, files);
        let workspace = Workspace { root, members };
        match is_listed {
            true if is_excluded && !workspace.is_needed_by(own, files) => {
                _ = search.excluded.get_or_insert(workspace);
            }
            true if workspace.missing(own, files).is_none() => {
                search.found = Some(workspace);
                break;
            }
            true => _ = search.found.get_or_insert(workspace),
            false => _ = search.passed.get_or_insert(workspace),
        }
    }
    Ok(search)
}

impl Workspace {
    /// The manifests of all packages.
    pub fn manifests(&self, files: &Tree) -> Vec<Manifest> {
        let directories = [&self.root].into_iter().chain(&self.members);
        directories.filter_map(|directory| package_json::find(directory, files)?.ok()).collect()
    }

    fn is_needed_by(&self, own: &Manifest, files: &Tree) -> bool {
        let manifests = self.manifests(files);
        let is_member = |name: &str| manifests.iter().any(|manifest| manifest.name() == Some(name));
        own.requirements().any(|(name, version)| is_of_workspace(version) || is_member(name))
    }

    /// The first package that `own` requires of its workspace, and that this one lacks: its name and version.
    pub fn missing<'a>(&self, own: &'a Manifest, files: &Tree) -> Option<(&'a str, &'a str)> {
        let is_package = |version: &str| version.strip_prefix("workspace:").is_some_and(is_range);
        let mut wanted = own.requirements().filter(|(_, version)| is_package(version)).peekable();
        wanted.peek()?;
        let manifests = self.manifests(files);
        wanted.find(|(name, _)| !manifests.iter().any(|manifest| manifest.name() == Some(name)))
    }
}

/// Whether only a workspace defines `version`.
pub fn is_of_workspace(version: &str) -> bool {
    OF_WORKSPACE.iter().any(|prefix| version.starts_with(prefix))
}

/// Whether the `.dockerignore` of a workspace's root excludes the manifest of the root, or that of `project` in it.
fn is_excluded(root: &str, project: &str, files: &Tree) -> bool {
    let text = files.text(&paths::join(root, ".dockerignore"));
    let manifests = [package_json::NAME.to_owned(), paths::join(project, package_json::NAME)];
    let ignore = text.and_then(|text| Ignore::parse(&text).ok());
    ignore.is_some_and(|ignore| manifests.iter().any(|path| ignore.excludes(path)))
}

/// Whether `version`, after `workspace:`, selects the package of the same name, rather than a directory or another one.
fn is_range(version: &str) -> bool {
    version.starts_with(['*', '^', '~', '>', '<', '=']) || version.starts_with(|c: char| c.is_ascii_digit())
}

/// pnpm's settings in `directory`; null if it has none.
pub fn settings(directory: &str, files: &Tree) -> Result<Value, Unreadable> {
    let path = paths::join(directory, PNPM_WORKSPACE);
    let text = super::text(&path, files).unwrap_or_else(|| Ok(String::new()));
    text.and_then(|text| yaml::read(&text)).map_err(|broken| Unreadable { path, broken })
}

/// The file that lists the members of the workspace with its root at `root`.
pub fn definition(root: &str, files: &Tree) -> String {
    let pnpm = paths::join(root, PNPM_WORKSPACE);
    if files.is_file(&pnpm) { pnpm } else { paths::join(root, package_json::NAME) }
}

/// The patterns of the members of a workspace with its root at `root`; none if there is no workspace.
fn patterns(root: &str, files: &Tree) -> Result<Vec<String>, Unreadable> {
    let Some(Ok(manifest)) = package_json::find(root, files) else { return Ok(Vec::new()) };
    let list = if Manager::of(&manifest, root, files).is_pnpm() {
        settings(root, files)?["packages"].clone()
    } else {
        manifest.workspaces().clone()
    };
    let patterns = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(patterns.map(str::to_owned).collect())
}

/// The path of a member, relative to the configuration's directory, as other paths in `home` are written.
fn from_home(member: &str, home: &str, files: &Tree) -> String {
    let short = paths::shortened(member, &files.directory());
    if paths::lies_in(&short, home) { short } else { member.to_owned() }
}

/// The patterns of members, compiled.
struct Members {
    /// Patterns of manifests; the last one that matches decides.
    manifests: GlobSet,
    /// For each of them, whether it excludes.
    excludes: Vec<bool>,
    /// Patterns of the directories in which members can be.
    above: GlobSet,
}

impl Members {
    fn new(patterns: &[String]) -> Self {
        let mut manifests = Vec::new();
        let mut excludes = Vec::new();
        let mut above = Vec::new();
        for pattern in patterns {
            let is_excluded = pattern.starts_with('!');
            let pattern = paths::normalize(pattern.trim_start_matches('!'));
            if let Some(manifest) = glob(&format!("{pattern}/{}", package_json::NAME), false) {
                manifests.push(manifest);
                excludes.push(is_excluded);
            }
            let ends = pattern.match_indices('/').map(|(at, _)| at).take(MAX_DEPTH).chain([pattern.len()]);
            // One that is cut within braces is invalid.
            above.extend(ends.filter(|_| !is_excluded).filter_map(|end| glob(&pattern[..end], false)));
        }
        let (manifests, above) = (glob_set(manifests), glob_set(above));
        Self { manifests: manifests.unwrap_or_default(), excludes, above: above.unwrap_or_default() }
    }

    /// The directories of the members below `root`, relative to it, sorted.
    fn find(&self, root: &str, files: &Tree) -> Vec<String> {
        let mut found = Vec::new();
        self.search(root, "", files, &mut found);
        found.sort();
        found
    }

    /// Searches the directory `at`, which is empty or ends with `/`.
    fn search(&self, root: &str, at: &str, files: &Tree, found: &mut Vec<String>) {
        for (name, kind) in files.list(&paths::join(root, at)) {
            let path = format!("{at}{name}");
            if kind == FileKind::Directory && !is_skipped(&name) && self.may_have_members(&path) {
                self.search(root, &format!("{path}/"), files, found);
            } else if name == package_json::NAME && self.is_member(&path) {
                found.extend(at.strip_suffix('/').map(str::to_owned));
            }
        }
    }

    fn may_have_members(&self, directory: &str) -> bool {
        self.above.is_match(directory)
    }

    fn is_member(&self, manifest: &str) -> bool {
        self.manifests.matches(manifest).last().is_some_and(|&last| !self.excludes[last])
    }
}

/// Whether package managers never search a directory of this name.
fn is_skipped(name: &str) -> bool {
    name == "node_modules" || name.starts_with('.')
}
