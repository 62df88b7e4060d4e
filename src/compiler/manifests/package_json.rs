//! A project's `package.json`: what installs the packages that it names, from which files, and whether those are
//! enough.

use serde_json::Value;

use crate::compiler::files::Files;

/// What the file is called.
pub const NAME: &str = "package.json";

/// Files beside it that an installation reads.
const SETTINGS: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bunfig.toml"];

/// Files beside it with code that package managers run.
const HOOKS: &[&str] = &[".pnpmfile.cjs", ".pnpmfile.mjs"];

/// Its keys that name packages.
const GROUPS: &[&str] = &["dependencies", "devDependencies", "optionalDependencies"];

/// Where it says what packages get in place of those that they name.
const OVERRIDES: &[&str] = &["/overrides", "/resolutions", "/pnpm/overrides"];

/// Where it says which packages are patched.
const PATCHES: &[&str] = &["/patchedDependencies", "/pnpm/patchedDependencies"];

/// Its scripts that run when packages are installed, and may need the source.
const LIFECYCLE: &[&str] =
    &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish"];

/// How versions start that lead to files.
const LOCAL: &[&str] =
    &["file:", "link:", "portal:", "patch:", "workspace:", "exec:", "./", "../", "/", "~/"];

/// A package manager: what tells that a project uses it, and how it installs.
#[derive(Debug)]
pub struct Manager {
    name: &'static str,
    locks: &'static [&'static str],
    with_lock: &'static str,
    without_lock: &'static str,
    here_with_lock: &'static str,
    here_without_lock: &'static str,
    /// Where it keeps in an image what it fetched.
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
    /// The command that installs a project's packages in an image.
    pub fn command(&self, files: &dyn Files) -> &'static str {
        if self.has_lock(files) { self.with_lock } else { self.without_lock }
    }

    /// The same beside the user's source, where no file of the user's may be written.
    fn command_here(&self, files: &dyn Files) -> &'static str {
        if self.has_lock(files) { self.here_with_lock } else { self.here_without_lock }
    }

    fn has_lock(&self, files: &dyn Files) -> bool {
        self.locks.iter().any(|lock| files.is_file(lock))
    }
}

/// What stands beside the configuration as `package.json`.
#[derive(Clone, Debug, PartialEq)]
pub enum PackageJson {
    /// No file.
    Absent,
    /// A file that no package manager reads; and why, with the place.
    Invalid(String),
    /// A manifest.
    Manifest(Manifest),
}

/// What a `package.json` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest(Value);

impl PackageJson {
    /// Reads the project's.
    pub fn read(files: &dyn Files) -> Self {
        if !files.is_file(NAME) {
            return Self::Absent;
        }
        let text = match files.read(NAME) {
            Ok(text) => text,
            Err(why) => return Self::Invalid(why),
        };
        match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(manifest @ Value::Object(_)) => Self::Manifest(Manifest(manifest)),
            Ok(_) => Self::Invalid("it is not an object".to_owned()),
            Err(error) => Self::Invalid(reason(&error)),
        }
    }

    /// The manifest, where it is one.
    pub fn manifest(self) -> Option<Manifest> {
        if let Self::Manifest(manifest) = self { Some(manifest) } else { None }
    }
}

/// An error of the parser in our own words.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let what = if error.is_eof() { "it ends too early" } else { what };
    format!("{what} at line {}, column {}", error.line(), error.column())
}

impl Manifest {
    /// By lock file; else by what it says; else npm.
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

    /// Files that decide what is installed, itself first.
    pub fn files(&self, files: &dyn Files) -> Vec<String> {
        let mut found = self.locked_by(files);
        found.extend(SETTINGS.iter().filter(|file| files.is_file(file)).map(|&file| file.to_owned()));
        found
    }

    /// Itself and its lock files.
    pub fn locked_by(&self, files: &dyn Files) -> Vec<String> {
        let locks = self.manager(files).locks.iter().filter(|file| files.is_file(file));
        [NAME].iter().chain(locks).map(|&file| file.to_owned()).collect()
    }

    /// The command that installs the packages in the user's tree. Yarn 2 and later cannot do without writing a lock file,
    /// so npm installs where there is none.
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

    /// Whether there is nothing to install.
    pub fn is_empty(&self) -> bool {
        let is_empty = |group: &&str| self.0[*group].as_object().is_none_or(serde_json::Map::is_empty);
        self.0["workspaces"].is_null() && GROUPS.iter().all(is_empty)
    }

    /// Why [`files`](Self::files) alone are not enough.
    pub fn needs_source(&self, files: &dyn Files) -> Option<String> {
        let Self(manifest) = self;
        if let Some(script) = LIFECYCLE.iter().find(|script| manifest["scripts"][**script].is_string()) {
            return Some(format!("package.json runs `{script}` when it is installed"));
        }
        if let Some(hook) = HOOKS.iter().find(|file| files.is_file(file)) {
            return Some(format!("`{hook}` runs when they are installed"));
        }
        if !manifest["workspaces"].is_null() || files.is_file("pnpm-workspace.yaml") {
            return Some("package.json has workspaces".to_owned());
        }
        let groups = GROUPS.iter().filter_map(|group| manifest.get(group));
        let overrides = OVERRIDES.iter().filter_map(|place| manifest.pointer(place));
        if let Some(name) = groups.chain(overrides).find_map(local) {
            return Some(format!("`{name}` is taken from the source"));
        }
        let is_patched = PATCHES.iter().any(|place| manifest.pointer(place).is_some());
        (is_patched || files.is_directory(".yarn"))
            .then(|| "patches or a package manager are part of the source".to_owned())
    }
}

/// The name of a package in `group` whose version leads to a file; what stands for a package may be an object again.
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
