//! The JavaScript packages that one run of a package manager installs: those of a package.json, or of a whole workspace.

use std::collections::HashSet;

use serde_json::Value;

use super::Unreadable;
use super::npm_credentials::has_credentials;
use super::package_json::{self, Manifest, strings};
use super::package_manager::{BUNFIG, Manager, Member, NPMRC, PNPM_WORKSPACE, YARNRC};
use super::tsconfig;
use super::workspace::{self, Workspace};
use crate::files::{FileKind, Files};
use crate::paths;
use crate::tree::Tree;

/// Files at the root that package managers read.
const SETTINGS: &[&str] = &[NPMRC, ".yarnrc", YARNRC, PNPM_WORKSPACE, BUNFIG];

/// Directories at the root with what Yarn 2 and later run and apply.
const YARN: &[&str] = &[RELEASES, ".yarn/plugins", ".yarn/patches"];

/// The directory with the program of Yarn.
const RELEASES: &str = ".yarn/releases";

/// Files at the root that package managers run.
const HOOKS: &[&str] = &[".pnpmfile.cjs", ".pnpmfile.mjs"];

/// Prefixes of versions that are files or directories.
const LOCAL: &[&str] = &["file:", "link:", "portal:", "exec:", "./", "../", "/", "~/"];

/// Maximum number of packages whose manifests are copied one by one: each is a layer, and an image has at most 127.
const MAX_COPIED: usize = 64;

/// An installation. Paths are relative to the configuration's directory.
#[derive(Debug)]
pub struct Installation {
    /// The directory in which the package manager runs.
    pub root: String,
    /// The directory of the project's own package.
    pub home: String,
    /// The directories of all packages, the root's first.
    pub directories: Vec<String>,
    /// The package manager.
    pub manager: &'static Manager,
    /// Its package in the npm registry, with its version.
    pub package: String,
    /// The lock files of the package manager.
    pub locks: Vec<String>,
    /// The files that it reads, the root's manifest first.
    pub files: Vec<String>,
    /// Those of [`files`](Self::files) that every installation needs: not those of other members.
    pub required: Vec<String>,
    /// Those of [`files`](Self::files) that hold credentials.
    pub secret: Vec<String>,
    /// Why it needs more than [`files`](Self::files), if it does.
    pub needs_source: Option<String>,
    /// The name of a required package of the workspace and its file that is not built, if nothing builds it meanwhile.
    pub unbuilt: Option<(String, String)>,
    /// Whether the package manager refuses packages whose `engines` do not include the Node.js that runs it.
    pub refuses_engines: bool,
    /// Whether there are no packages to install.
    pub is_empty: bool,
    /// The command that installs only what the project's own package needs, if there is one.
    focused: Option<String>,
    /// Whether npx runs [`package`](Self::package), since the program on the PATH may refuse the project.
    is_run_by_npx: bool,
}

/// The manifests of an installation, and the settings of its root.
struct Packages {
    root: String,
    home: String,
    manager: &'static Manager,
    /// Directory and manifest, the root's first.
    manifests: Vec<(String, Manifest)>,
    /// pnpm's settings.
    settings: Value,
}

/// Reads the manifest of the [`home`] among these directories, and those of its workspace.
pub fn find(directories: &[String], files: &Tree) -> Option<Result<Installation, Unreadable>> {
    let home = home(directories, files)?;
    let installation = |own| {
        let workspace = workspace::search(&own, &home, files)?.found;
        Ok(Packages::new(&home, own, workspace, files)?.installation(files))
    };
    Some(package_json::find(&home, files)?.and_then(installation))
}

/// The first of these directories with a package.json that names packages or belongs to a workspace, or else the first
/// with any package.json.
pub fn home(directories: &[String], files: &Tree) -> Option<String> {
    let mut all = directories.iter().filter_map(|directory| {
        let manifest = package_json::find(directory, files)?;
        Some((directory, has_packages(directory, manifest, files)))
    });
    let (first, has_own) = all.next()?;
    let other = if has_own { None } else { all.find(|(_, has_packages)| *has_packages) };
    Some(other.map_or(first, |(directory, _)| directory).clone())
}

/// Whether an installation for `directory` has packages, or at least fails there.
fn has_packages(directory: &str, manifest: Result<Manifest, Unreadable>, files: &Tree) -> bool {
    let is_member = |own| workspace::search(own, directory, files).is_ok_and(|search| search.found.is_some());
    manifest.as_ref().map_or(true, |manifest| !manifest.is_empty() || is_member(manifest))
}

impl Packages {
    fn new(
        home: &str,
        own: Manifest,
        workspace: Option<Workspace>,
        files: &Tree,
    ) -> Result<Self, Unreadable> {
        let home = home.to_owned();
        let Workspace { root, members } =
            workspace.unwrap_or_else(|| Workspace { root: home.clone(), members: Vec::new() });
        let mut manifests = Vec::new();
        for directory in [root.clone()].into_iter().chain(members) {
            let manifest = if directory == home {
                Some(own.clone())
            } else {
                package_json::find(&directory, files).transpose()?
            };
            manifests.extend(manifest.map(|manifest| (directory, manifest)));
        }
        let manager = Manager::of(&manifests[0].1, &root, files);
        let settings = if manager.is_pnpm() { workspace::settings(&root, files)? } else { Value::Null };
        Ok(Self { root, home, manager, manifests, settings })
    }

    fn installation(self, files: &Tree) -> Installation {
        let (_, root) = &self.manifests[0];
        let locks: Vec<String> = self.manager.lock_files(&self.root, files).collect();
        let at_root = self.files_at_root(&locks, files);
        let own = (self.root != self.home).then(|| paths::join(&self.home, package_json::NAME));
        let all: Vec<String> = at_root.iter().cloned().chain(self.files_of_members(files)).collect();
        let is_secret = |file: &&String| files.text(file).is_some_and(|text| has_credentials(file, &text));
        let secret: Vec<String> = all.iter().filter(is_secret).cloned().collect();
        // A project may leave out settings that hold credentials.
        let is_optional = |file: &String| paths::file_name(file) == NPMRC || secret.contains(file);
        let required = at_root.iter().filter(|file| !is_optional(file));
        let required = required.cloned().chain(own).collect();
        let old = locks.iter().find_map(|lock| self.manager.package_of_lock(root, &files.text(lock)?));
        let is_old = old.is_some();
        let package = old.unwrap_or_else(|| self.manager.package(root));
        let focused = if locks.is_empty() { None } else { self.focused(&package, files) };
        let needed = focused.as_ref().map(|_| self.needed());
        let has_program = all.iter().any(|file| paths::parent(file) == self.at_root(RELEASES));
        Installation {
            manager: self.manager,
            locks,
            secret,
            required,
            needs_source: self.needs_source(needed.as_ref(), files),
            focused,
            refuses_engines: self.refuses_engines(files),
            unbuilt: self.unbuilt(files),
            is_empty: self.manifests.len() == 1 && root.is_empty() && root.workspaces().is_null(),
            package,
            is_run_by_npx: is_old || self.manager.is_ambiguous() && !has_program,
            files: all,
            directories: self.manifests.into_iter().map(|(directory, _)| directory).collect(),
            root: self.root,
            home: self.home,
        }
    }

    fn at_root(&self, path: &str) -> String {
        paths::join(&self.root, path)
    }

    /// The files that an installation reads at the root, and patches.
    fn files_at_root(&self, locks: &[String], files: &Tree) -> Vec<String> {
        let settings = SETTINGS.iter().map(|name| self.at_root(name));
        let mut found = vec![self.at_root(package_json::NAME)];
        found.extend_from_slice(locks);
        found.extend(settings.chain(self.patches()).filter(|file| files.is_file(file)));
        YARN.iter().for_each(|directory| below(&self.at_root(directory), files, &mut found));
        let mut seen = HashSet::new();
        found.retain(|file| seen.insert(file.clone()));
        found
    }

    /// The files that it reads in other packages.
    fn files_of_members(&self, files: &Tree) -> Vec<String> {
        let members = self.manifests[1..].iter();
        let read = members
            .flat_map(|(directory, _)| [package_json::NAME, NPMRC].map(|name| paths::join(directory, name)));
        read.filter(|file| files.is_file(file)).collect()
    }

    /// The patches that manifests and settings name.
    fn patches(&self) -> impl Iterator<Item = String> {
        let all = self.manifests.iter().flat_map(|(_, manifest)| {
            let versions = manifest.versions().into_iter().map(|(_, version)| version);
            let named = versions.filter_map(|version| version.strip_prefix("patch:")?.rsplit_once('#'));
            manifest.patches().chain(named.map(|(_, path)| path))
        });
        let settings = strings(&self.settings["patchedDependencies"]).into_iter().map(|(_, path)| path);
        // `~` is the root.
        all.chain(settings).map(|path| self.at_root(path.trim_start_matches("~/")))
    }

    /// The command for the project's own package alone, if it is a member of a workspace.
    fn focused(&self, package: &str, files: &Tree) -> Option<String> {
        let is_own = |(directory, _): &&(String, Manifest)| *directory == self.home;
        let own = self.manifests[1..].iter().find(is_own)?.1.name();
        let name = own.filter(|_| self.manifests.iter().filter(|it| it.1.name() == own).count() == 1);
        // Packages may be imported that only others declare.
        let settings =
            [NPMRC, PNPM_WORKSPACE].map(|name| files.text(&self.at_root(name)).unwrap_or_default());
        let is_hoisted =
            self.manager.is_pnpm() && settings.iter().any(|text| text.to_lowercase().contains("hoist"));
        // The command is part of Yarn since version 4.
        let is_old = self.manager.is_ambiguous() && !package.rsplit('@').next()?.starts_with('4');
        let (_, root) = &self.manifests[0];
        // It names the packages to install.
        let is_unnamed = self.manager.is_ambiguous() && root.name().is_none() && !root.is_empty();
        if is_hoisted || is_old || is_unnamed {
            return None;
        }
        let absolute = |path: &str| paths::components(path, &files.directory());
        let directory = absolute(&self.home).split_off(absolute(&self.root).len()).join("/");
        self.manager.focused_command(&Member { name, directory: &directory, root: root.name() })
    }

    /// The directories of the root, of the project's own package, and of the members that it requires.
    fn needed(&self) -> HashSet<&str> {
        let mut found: Vec<&(String, Manifest)> = self
            .manifests
            .iter()
            .filter(|(directory, _)| [&self.root, &self.home].contains(&directory))
            .collect();
        let mut next = 0;
        while let Some((_, manifest)) = found.get(next) {
            next += 1;
            let names: HashSet<&str> = manifest.requirements().map(|(name, _)| name).collect();
            let is_required = |it: &&(String, Manifest)| it.1.name().is_some_and(|name| names.contains(name));
            let known: HashSet<&str> = found.iter().map(|(directory, _)| directory.as_str()).collect();
            let new = self.manifests.iter().filter(is_required).filter(|it| !known.contains(it.0.as_str()));
            found.extend(new.collect::<Vec<_>>());
        }
        found.into_iter().map(|(directory, _)| directory.as_str()).collect()
    }

    /// Why the installation of the packages in `needed`, or else of all, needs the source.
    fn needs_source(&self, needed: Option<&HashSet<&str>>, files: &Tree) -> Option<String> {
        if self.manifests.len() > MAX_COPIED {
            return Some(format!("its workspace has {} packages", self.manifests.len()));
        }
        if let Some(hook) = HOOKS.iter().find(|file| files.is_file(&self.at_root(file))) {
            return Some(format!("`{hook}` runs during the installation"));
        }
        let mut overrides = strings(&self.settings["overrides"]).into_iter();
        let local = overrides.find(|(_, version)| self.is_elsewhere(&self.root, version));
        let local = local.map(|(name, _)| format!("`{name}` is a local package"));
        let is_needed = |directory: &str| needed.is_none_or(|needed| needed.contains(directory));
        let mut installed = self.manifests.iter().filter(|(directory, _)| is_needed(directory));
        local.or_else(|| installed.find_map(|(directory, manifest)| self.why(directory, manifest)))
    }

    /// Why the package in `directory` needs the source.
    fn why(&self, directory: &str, manifest: &Manifest) -> Option<String> {
        if let Some(script) = manifest.lifecycle_script() {
            let path = paths::join(directory, package_json::NAME);
            return Some(format!("{path} runs `{script}` during the installation"));
        }
        let mut versions = manifest.versions().into_iter();
        let (name, _) = versions.find(|(_, version)| self.is_elsewhere(directory, version))?;
        Some(format!("`{name}` is a local package"))
    }

    fn refuses_engines(&self, files: &Tree) -> bool {
        let text = |name| files.text(&self.at_root(name)).unwrap_or_default();
        let is_set = |line: &str| {
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            key.trim() == "engine-strict" && value.trim() == "true"
        };
        match self.manager.name {
            "npm" | "pnpm" => text(NPMRC).lines().any(is_set) || self.settings["engineStrict"] == "true",
            _ => self.manager.is_first_yarn() && !text(".yarnrc").contains("ignore-engines"),
        }
    }

    /// The first package of the workspace that the project's own imports, directly or not, and whose file is missing.
    fn unbuilt(&self, files: &Tree) -> Option<(String, String)> {
        if self.manifests.iter().any(|(_, manifest)| manifest.lifecycle_script().is_some()) {
            return None;
        }
        let (_, own) = self.manifests.iter().find(|(directory, _)| *directory == self.home)?;
        let mut names: Vec<&str> = own.imported().collect();
        let mut next = 0;
        while let Some(&name) = names.get(next) {
            next += 1;
            let Some((directory, member)) = self.manifests.iter().find(|(_, it)| it.name() == Some(name))
            else {
                continue;
            };
            let file = member.compiled_entry().map(|entry| paths::join(directory, entry));
            if let Some(file) = file.filter(|file| !files.is_file(file) && !self.is_mapped(name, files)) {
                return Some((name.to_owned(), file));
            }
            let imported: Vec<&str> = member.imported().filter(|name| !names.contains(name)).collect();
            names.extend(imported);
        }
        None
    }

    /// Whether a TypeScript configuration of the project may lead imports of a package to other files, by `paths`.
    fn is_mapped(&self, name: &str, files: &Tree) -> bool {
        let mut aliases = [&self.home, &self.root].into_iter().filter_map(|it| tsconfig::find(it, files));
        aliases.any(|it| it.is_open || !it.targets(name).is_empty())
    }

    /// Whether a version of a package in `directory` is a local file, or a directory whose manifest is not copied.
    fn is_elsewhere(&self, directory: &str, version: &str) -> bool {
        let is_archive = [".tgz", ".tar.gz", ".tar"].iter().any(|ending| version.ends_with(ending));
        if !LOCAL.iter().any(|start| version.starts_with(start)) {
            return is_archive && !version.contains("://");
        }
        let path = version.split_once(':').map_or(version, |(_, path)| path);
        let path = paths::join(directory, path);
        let is_member = self.manifests.iter().any(|(member, _)| *member == path);
        !is_member
    }
}

/// Adds all files below `directory`.
fn below(directory: &str, files: &Tree, found: &mut Vec<String>) {
    for (name, kind) in files.list(directory) {
        let path = paths::join(directory, &name);
        match kind {
            FileKind::Directory => below(&path, files, found),
            FileKind::File => found.push(path),
        }
    }
}

impl Installation {
    /// The command that installs the packages in an image.
    pub fn command(&self) -> String {
        let all = self.manager.command(!self.locks.is_empty());
        self.with_program(self.focused.as_deref().unwrap_or(all))
    }

    /// The command that installs the packages in the user's tree.
    pub fn command_here(&self) -> String {
        self.with_program(self.manager.command_here(!self.locks.is_empty()))
    }

    fn with_program(&self, command: &str) -> String {
        let by_npx = format!("npx --yes {}", self.package);
        if self.is_run_by_npx { command.replacen(self.manager.name, &by_npx, 1) } else { command.to_owned() }
    }
}
