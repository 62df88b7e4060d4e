//! JavaScript package managers: their lock files and their commands.

use super::package_json::Manifest;
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// Settings of npm and pnpm, also of a single package.
pub const NPMRC: &str = ".npmrc";

/// Settings of Yarn 2 and later.
pub const YARNRC: &str = ".yarnrc.yml";

/// Settings of bun.
pub const BUNFIG: &str = "bunfig.toml";

/// A package manager: its lock files and its installation commands.
#[derive(Debug)]
pub struct Manager {
    /// Name of the program.
    pub name: &'static str,
    /// Its package in the npm registry, and the version if the project names none.
    package: (&'static str, &'static str),
    locks: &'static [&'static str],
    /// The command that installs in an image what a lock file has, and refuses one that does not fit.
    pub with_lock: &'static str,
    without_lock: &'static str,
    here_with_lock: &'static str,
    here_without_lock: &'static str,
    /// Its download cache in an image.
    pub cache: &'static str,
    /// Whether the server's images have the program.
    is_in_image: bool,
}

/// A member of a workspace.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The name of its package, if no other member has it.
    pub name: Option<&'a str>,
    /// Its directory, relative to the root.
    pub directory: &'a str,
    /// The name of the root's package, if it has one.
    pub root: Option<&'a str>,
}

const YARN: Manager = Manager {
    name: "yarn",
    package: ("yarn", "1"),
    locks: &["yarn.lock"],
    with_lock: "DISABLE_V8_COMPILE_CACHE=1 yarn install --frozen-lockfile",
    without_lock: "DISABLE_V8_COMPILE_CACHE=1 yarn install",
    here_with_lock: "yarn install --frozen-lockfile",
    here_without_lock: "yarn install --no-lockfile",
    cache: "/usr/local/share/.cache/yarn",
    is_in_image: true,
};

/// The file with pnpm's settings, among them the members.
pub const PNPM_WORKSPACE: &str = "pnpm-workspace.yaml";

static PNPM: Manager = Manager {
    name: "pnpm",
    package: ("pnpm", "10"),
    locks: &["pnpm-lock.yaml"],
    with_lock: "pnpm i --frozen-lockfile",
    without_lock: "pnpm i",
    here_with_lock: "pnpm install --frozen-lockfile",
    here_without_lock: "pnpm install --no-lockfile",
    cache: "/root/.local/share/pnpm/store",
    is_in_image: true,
};

/// Starts of the formats of a pnpm-lock.yaml that pnpm 10 refuses, and the version of pnpm that reads each.
const OLD_LOCKS: &[(&str, &str)] = &[("5.", "7"), ("6.", "8")];

const NPM: Manager = Manager {
    name: "npm",
    package: ("npm", "10"),
    locks: &["package-lock.json", "npm-shrinkwrap.json"],
    with_lock: "npm ci",
    without_lock: "npm i",
    here_with_lock: "npm ci --no-audit --no-fund",
    here_without_lock: "npm install --no-package-lock --no-save --no-audit --no-fund",
    cache: "/root/.npm",
    is_in_image: true,
};

static BUN: Manager = Manager {
    name: "bun",
    package: ("bun", "1"),
    locks: &["bun.lockb", "bun.lock"],
    with_lock: "bun i --frozen-lockfile",
    without_lock: "bun i",
    here_with_lock: "bun install --frozen-lockfile",
    here_without_lock: "bun install --no-save",
    cache: "/root/.bun/install/cache",
    is_in_image: false,
};

/// Yarn 2 and later: another package, with another cache. Its default is not to use node_modules, which the server needs.
static MODERN_YARN: Manager = Manager {
    package: ("@yarnpkg/cli-dist", "4"),
    with_lock: "YARN_NODE_LINKER=node-modules yarn install --immutable",
    without_lock: "YARN_NODE_LINKER=node-modules yarn install",
    here_with_lock: "yarn install --immutable",
    // It always writes a lock file.
    here_without_lock: NPM.here_without_lock,
    cache: "/root/.yarn/berry/cache",
    ..YARN
};

/// In the order of precedence if there are several lock files.
static MANAGERS: [&Manager; 4] = [&YARN, &PNPM, &NPM, &BUN];

impl Manager {
    /// The package manager of the directory `root`, whose package.json is `manifest`: the named one if it has a lock file,
    /// else that of the lock file, else the named one, else the one whose settings there are, else npm.
    pub fn of(manifest: &Manifest, root: &str, files: &Tree) -> &'static Self {
        let by_name = || MANAGERS.into_iter().find(|manager| Some(manager.name) == manifest.manager());
        let is_locked = |manager: &&Self| manager.lock_files(root, files).next().is_some();
        let by_lock = || MANAGERS.into_iter().find(is_locked);
        let has = |name: &str| files.is_file(&paths::join(root, name));
        let by_settings = || Some(&PNPM).filter(|_| has(PNPM_WORKSPACE));
        let found = by_name().filter(is_locked).or_else(by_lock).or_else(by_name).or_else(by_settings);
        match found {
            Some(yarn) if yarn.name == YARN.name && (manifest.has_modern_yarn() || has(YARNRC)) => {
                &MODERN_YARN
            }
            found => found.unwrap_or(&NPM),
        }
    }

    /// Whether an image lacks the program, so that npm installs it there. The base image may be a plain one of Node.js, without
    /// pnpm.
    pub fn is_bootstrapped(&self, is_plain: bool) -> bool {
        !self.is_in_image || is_plain && self.is_pnpm()
    }

    /// Whether it is Yarn 1.
    pub fn is_first_yarn(&self) -> bool {
        self.package == YARN.package
    }

    /// Whether it is pnpm, which reads the members of a workspace from its own settings.
    pub fn is_pnpm(&self) -> bool {
        self.name == PNPM.name
    }

    /// Its lock files in the directory `root`.
    pub fn lock_files<'a>(&'a self, root: &'a str, files: &'a Tree) -> impl Iterator<Item = String> + 'a {
        self.locks.iter().map(|lock| paths::join(root, lock)).filter(|lock| files.is_file(lock))
    }

    /// Its package in the npm registry: the version that `manifest` names, or else a version that fits.
    pub fn package(&self, manifest: &Manifest) -> String {
        let named = manifest.manager_version().filter(|_| manifest.manager() == Some(self.name));
        let (name, default) = self.package;
        format!("{name}@{}", named.unwrap_or(default))
    }

    /// Its package, with the version that reads a lock file with this text, if a newer one refuses it and `manifest` names
    /// none.
    pub fn package_of_lock(&self, manifest: &Manifest, text: &str) -> Option<String> {
        if !self.is_pnpm() || manifest.manager_version().is_some() {
            return None;
        }
        let format = text.lines().find_map(|line| line.strip_prefix("lockfileVersion:"))?;
        let format = format.trim().trim_matches(['\'', '"']);
        let (_, version) = OLD_LOCKS.iter().find(|(start, _)| format.starts_with(start))?;
        Some(format!("{}@{version}", self.package.0))
    }

    /// Whether the program on the PATH may be Yarn 1, which refuses projects of later versions.
    pub fn is_ambiguous(&self) -> bool {
        self.package == MODERN_YARN.package
    }

    /// The command that installs the packages in an image.
    pub fn command(&self, has_lock: bool) -> &'static str {
        if has_lock { self.with_lock } else { self.without_lock }
    }

    /// The command that installs, by the lock file, the packages of the root of a workspace and of one member with the
    /// members that it requires, in an image; `None` if there is none.
    pub fn focused_command(&self, member: &Member<'_>) -> Option<String> {
        let Member { name, directory, root } = *member;
        let is_plain = |word: &str| {
            word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '@'))
        };
        if ![directory].into_iter().chain(name).chain(root).all(is_plain) {
            return None;
        }
        let install = self.with_lock;
        match self.package.0 {
            "pnpm" => Some(format!("{install} --filter '{{.}}' --filter {}...", name?)),
            "npm" => Some(format!("{install} --workspace {directory} --include-workspace-root")),
            "@yarnpkg/cli-dist" => {
                let root = root.map(|root| format!(" {root}")).unwrap_or_default();
                Some(format!("YARN_NODE_LINKER=node-modules yarn workspaces focus {}{root}", name?))
            }
            _ => None,
        }
    }

    /// The command that installs the packages in the user's tree, where it changes none of the user's files.
    pub fn command_here(&self, has_lock: bool) -> &'static str {
        if has_lock { self.here_with_lock } else { self.here_without_lock }
    }
}
