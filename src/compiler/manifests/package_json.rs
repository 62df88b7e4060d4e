//! A project's `package.json`: its package manager, the files that an installation reads, and whether it needs the source.

use serde_json::Value;

use super::Broken;
use crate::compiler::files::Files;

/// The name of the file.
pub const NAME: &str = "package.json";

/// Files beside it that package managers read.
const SETTINGS: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bunfig.toml"];

/// Files beside it that package managers run.
const HOOKS: &[&str] = &[".pnpmfile.cjs", ".pnpmfile.mjs"];

/// Keys with packages and their versions.
const GROUPS: &[&str] = &["dependencies", "devDependencies", "optionalDependencies"];

/// Pointers to versions that override those of other packages.
const OVERRIDES: &[&str] = &["/overrides", "/resolutions", "/pnpm/overrides"];

/// Pointers to patches of packages.
const PATCHES: &[&str] = &["/patchedDependencies", "/pnpm/patchedDependencies"];

/// Scripts that run during an installation, and may need the source.
const LIFECYCLE: &[&str] =
    &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish"];

/// Prefixes of versions that are local files.
const LOCAL: &[&str] =
    &["file:", "link:", "portal:", "patch:", "workspace:", "exec:", "./", "../", "/", "~/"];

/// A package manager: its lock files and its installation commands.
#[derive(Debug)]
pub struct Manager {
    name: &'static str,
    locks: &'static [&'static str],
    with_lock: &'static str,
    without_lock: &'static str,
    here_with_lock: &'static str,
    here_without_lock: &'static str,
    /// Its download cache in an image.
    pub cache: &'static str,
}

const MANAGERS: &[Manager] = &[
    Manager {
        name: "yarn",
        locks: &["yarn.lock"],
        with_lock: "yarn install --frozen-lockfile",
        without_lock: "yarn install",
        here_with_lock: "yarn install --frozen-lockfile",
        here_without_lock: "yarn install --no-lockfile",
        cache: "/usr/local/share/.cache/yarn",
    },
    Manager {
        name: "pnpm",
        locks: &["pnpm-lock.yaml"],
        with_lock: "pnpm i --frozen-lockfile",
        without_lock: "pnpm i",
        here_with_lock: "pnpm install --frozen-lockfile",
        here_without_lock: "pnpm install --no-lockfile",
        cache: "/root/.local/share/pnpm/store",
    },
    Manager {
        name: "npm",
        locks: &["package-lock.json", "npm-shrinkwrap.json"],
        with_lock: "npm ci",
        without_lock: "npm i",
        here_with_lock: "npm ci --no-audit --no-fund",
        here_without_lock: "npm install --no-package-lock --no-save --no-audit --no-fund",
        cache: "/root/.npm",
    },
    Manager {
        name: "bun",
        locks: &["bun.lockb", "bun.lock"],
        with_lock: "bun i",
        without_lock: "bun i",
        here_with_lock: "bun install --frozen-lockfile",
        here_without_lock: "bun install --no-save",
        cache: "/root/.bun/install/cache",
    },
];

impl Manager {
    /// The command that installs the packages in an image.
    pub fn command(&self, files: &dyn Files) -> &'static str {
        if self.has_lock(files) { self.with_lock } else { self.without_lock }
    }

    /// The same in the user's tree, where it changes none of the user's files.
    fn command_here(&self, files: &dyn Files) -> &'static str {
        if self.has_lock(files) { self.here_with_lock } else { self.here_without_lock }
    }

    fn has_lock(&self, files: &dyn Files) -> bool {
        self.locks.iter().any(|lock| files.is_file(lock))
    }
}

/// The content of a `package.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest(Value);

/// Reads the project's, if it has one.
pub fn find(files: &dyn Files) -> Option<Result<Manifest, Broken>> {
    super::text(NAME, files).map(|text| text.and_then(|text| read(&text)))
}

/// Reads the content of a `package.json`, which is strict JSON.
pub fn read(text: &str) -> Result<Manifest, Broken> {
    match serde_json::from_str(text) {
        Ok(manifest @ Value::Object(_)) => Ok(Manifest(manifest)),
        Ok(_) => Err(Broken::new(0..text.len(), "expected an object")),
        Err(error) => {
            let whole = error.to_string();
            let message = whole.split(" at line ").next().unwrap_or_default();
            let message = if error.is_eof() { "unexpected end of file" } else { message };
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let at = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            let start = text.floor_char_boundary(at);
            Err(Broken::new(start..text.ceil_char_boundary(start + 1), message))
        }
    }
}

impl Manifest {
    /// The package manager of the lock file; else the one that the manifest names; else npm.
    pub fn manager(&self, files: &dyn Files) -> &'static Manager {
        let Self(manifest) = self;
        let by_lock = MANAGERS.iter().find(|manager| manager.has_lock(files));
        let named = manifest["packageManager"]
            .as_str()
            .or_else(|| manifest["devEngines"]["packageManager"]["name"].as_str());
        let named = named.map(|name| name.split('@').next().unwrap_or(name));
        let by_name = || MANAGERS.iter().find(|manager| Some(manager.name) == named);
        let npm = || MANAGERS.iter().find(|manager| manager.name == "npm");
        by_lock.or_else(by_name).or_else(npm).unwrap_or(&MANAGERS[0])
    }

    /// The files that an installation reads, the manifest first.
    pub fn files(&self, files: &dyn Files) -> Vec<String> {
        let mut found = self.locked_by(files);
        found.extend(SETTINGS.iter().filter(|file| files.is_file(file)).map(|&file| file.to_owned()));
        found
    }

    /// The manifest and its lock files.
    pub fn locked_by(&self, files: &dyn Files) -> Vec<String> {
        let locks = self.manager(files).locks.iter().filter(|file| files.is_file(file));
        [NAME].iter().chain(locks).map(|&file| file.to_owned()).collect()
    }

    /// The command that installs the packages in the user's tree. Yarn 2 and later always write a lock file, so that npm
    /// is used if there is none.
    pub fn command_here(&self, files: &dyn Files) -> &'static str {
        let manager = self.manager(files);
        let writes_lock = manager.name == "yarn" && !manager.has_lock(files) && self.has_modern_yarn(files);
        let npm = MANAGERS.iter().find(|other| writes_lock && other.name == "npm");
        npm.unwrap_or(manager).command_here(files)
    }

    /// Whether it is made for Yarn 2 or later.
    fn has_modern_yarn(&self, files: &dyn Files) -> bool {
        let version = self.0["packageManager"].as_str().and_then(|it| it.strip_prefix("yarn@"));
        let major = version.and_then(|version| version.split('.').next());
        files.is_file(".yarnrc.yml") || major.is_some_and(|major| major != "1")
    }

    /// Whether it names no packages.
    pub fn is_empty(&self) -> bool {
        let is_empty = |group: &&str| self.0[*group].as_object().is_none_or(serde_json::Map::is_empty);
        self.0["workspaces"].is_null() && GROUPS.iter().all(is_empty)
    }

    /// Why an installation needs more than [`files`](Self::files), if it does.
    pub fn needs_source(&self, files: &dyn Files) -> Option<String> {
        let Self(manifest) = self;
        if let Some(script) = LIFECYCLE.iter().find(|script| manifest["scripts"][**script].is_string()) {
            return Some(format!("package.json runs `{script}` during the installation"));
        }
        if let Some(hook) = HOOKS.iter().find(|file| files.is_file(file)) {
            return Some(format!("`{hook}` runs during the installation"));
        }
        if !manifest["workspaces"].is_null() || files.is_file("pnpm-workspace.yaml") {
            return Some("package.json has workspaces".to_owned());
        }
        let groups = GROUPS.iter().filter_map(|group| manifest.get(group));
        let overrides = OVERRIDES.iter().filter_map(|place| manifest.pointer(place));
        if let Some(name) = groups.chain(overrides).find_map(local) {
            return Some(format!("`{name}` is a local package"));
        }
        let is_patched = PATCHES.iter().any(|place| manifest.pointer(place).is_some());
        (is_patched || files.is_directory(".yarn"))
            .then(|| "the source contains patches or a package manager".to_owned())
    }
}

/// The name of a package in `group`, which may be nested, whose version is a local file.
fn local(group: &Value) -> Option<&str> {
    group.as_object()?.iter().find_map(|(name, version)| match version.as_str() {
        Some(version) => is_local(version).then_some(name.as_str()),
        None => local(version),
    })
}

fn is_local(version: &str) -> bool {
    let is_archive = [".tgz", ".tar.gz", ".tar"].iter().any(|ending| version.ends_with(ending));
    LOCAL.iter().any(|start| version.starts_with(start)) || is_archive && !version.contains("://")
}
