//! JavaScript package managers: their lock files and their commands.

use super::package_json::Manifest;
use super::workspace;
use crate::compiler::files::Files;
use crate::compiler::paths;

/// A package manager: its lock files and its installation commands.
#[derive(Debug)]
pub struct Manager {
    /// Name of the program.
    pub name: &'static str,
    locks: &'static [&'static str],
    with_lock: &'static str,
    without_lock: &'static str,
    here_with_lock: &'static str,
    here_without_lock: &'static str,
    /// Its download cache in an image.
    pub cache: &'static str,
}

static YARN: Manager = Manager {
    name: "yarn",
    locks: &["yarn.lock"],
    with_lock: "yarn install --frozen-lockfile",
    without_lock: "yarn install",
    here_with_lock: "yarn install --frozen-lockfile",
    here_without_lock: "yarn install --no-lockfile",
    cache: "/usr/local/share/.cache/yarn",
};

static PNPM: Manager = Manager {
    name: "pnpm",
    locks: &["pnpm-lock.yaml"],
    with_lock: "pnpm i --frozen-lockfile",
    without_lock: "pnpm i",
    here_with_lock: "pnpm install --frozen-lockfile",
    here_without_lock: "pnpm install --no-lockfile",
    cache: "/root/.local/share/pnpm/store",
};

static NPM: Manager = Manager {
    name: "npm",
    locks: &["package-lock.json", "npm-shrinkwrap.json"],
    with_lock: "npm ci",
    without_lock: "npm i",
    here_with_lock: "npm ci --no-audit --no-fund",
    here_without_lock: "npm install --no-package-lock --no-save --no-audit --no-fund",
    cache: "/root/.npm",
};

static BUN: Manager = Manager {
    name: "bun",
    locks: &["bun.lockb", "bun.lock"],
    with_lock: "bun i --frozen-lockfile",
    without_lock: "bun i",
    here_with_lock: "bun install --frozen-lockfile",
    here_without_lock: "bun install --no-save",
    cache: "/root/.bun/install/cache",
};

/// In the order of precedence if there are several lock files.
static MANAGERS: [&Manager; 4] = [&YARN, &PNPM, &NPM, &BUN];

impl Manager {
    /// The package manager of the directory `root`, whose package.json is `manifest`: the named one if it has a lock file,
    /// else that of the lock file, else the named one, else the one whose settings there are, else npm.
    pub fn of(manifest: &Manifest, root: &str, files: &dyn Files) -> &'static Self {
        let by_name = || MANAGERS.into_iter().find(|manager| Some(manager.name) == manifest.manager());
        let is_locked = |manager: &&Self| manager.lock_files(root, files).next().is_some();
        let by_lock = || MANAGERS.into_iter().find(is_locked);
        let by_settings = || Some(&PNPM).filter(|_| files.is_file(&paths::join(root, workspace::PNPM)));
        by_name().filter(is_locked).or_else(by_lock).or_else(by_name).or_else(by_settings).unwrap_or(&NPM)
    }

    /// Whether it is pnpm, which has a list of the members of a workspace of its own.
    pub fn is_pnpm(&self) -> bool {
        self.name == PNPM.name
    }

    /// Its lock files in the directory `root`.
    pub fn lock_files<'a>(
        &'a self,
        root: &'a str,
        files: &'a dyn Files,
    ) -> impl Iterator<Item = String> + 'a {
        self.locks.iter().map(|lock| paths::join(root, lock)).filter(|lock| files.is_file(lock))
    }

    /// The command that installs the packages in an image.
    pub fn command(&self, has_lock: bool) -> &'static str {
        if has_lock { self.with_lock } else { self.without_lock }
    }

    /// The command that installs the packages in the user's tree, where it changes none of the user's files. Yarn 2 and
    /// later always write a lock file, so that npm is used if there is none.
    pub fn command_here(&self, has_lock: bool, is_modern_yarn: bool) -> &'static str {
        match has_lock {
            true => self.here_with_lock,
            false if self.name == YARN.name && is_modern_yarn => NPM.here_without_lock,
            false => self.here_without_lock,
        }
    }
}
