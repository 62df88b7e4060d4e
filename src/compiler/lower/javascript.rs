//! JavaScript projects: the JavaScript server's image, and the JavaScript half of a mixed one.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::files::Files;
use crate::compiler::lower::{Build, Input, common, image};
use crate::compiler::plan::{Action, Command, Mount, NodeProject};
use crate::compiler::{paths, server};

/// A package manager: what tells that a project uses it, and how it installs.
struct Manager {
    name: &'static str,
    locks: &'static [&'static str],
    with_lock: &'static str,
    without_lock: &'static str,
    /// The same beside the user's source, where no file of the user's may be written.
    here_with_lock: &'static str,
    here_without_lock: &'static str,
    cache: &'static str,
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

/// Files beside package.json that an installation reads.
const SETTINGS: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bunfig.toml"];

/// Keys of package.json that name packages.
const GROUPS: &[&str] = &["dependencies", "devDependencies", "optionalDependencies"];

/// Scripts of package.json that run when packages are installed, and may need the source.
const LIFECYCLE: &[&str] =
    &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish"];

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    common::base(input, &image::reference(input.config, input.variant), None, build);
    let project = || Action::Workdir { path: input.layout.project.clone() };
    build.step("/graphs", "", project());
    let installed = input.options.install_command.is_none() && packages(input, build);
    build.step(
        "/graphs",
        "what the server reads from its environment",
        Action::Env { variables: contract.clone() },
    );
    common::source(input, build);
    if let Some(command) = &input.options.install_command {
        let path = input.layout.in_image(&paths::normalize(&input.options.called_from));
        build.step("/graphs", "", Action::Workdir { path });
        build.step("/graphs", "the project's own installation", shell(command));
        build.step("/graphs", "", project());
    } else if !installed {
        install_behind_copy(input, build);
    }
    if let Some(command) = &input.options.build_command {
        build.step("/graphs", "the project's own build", shell(command));
    }
    prepare(build);
}

/// Prepares graphs and UI components, as the server's image does it.
pub(super) fn prepare(build: &mut Build) {
    build.step("/graphs", "JavaScript prepared for the server", shell(server::BUILD_JAVASCRIPT));
}

/// Installs packages before the source is there, from the manifests alone; whether that was done.
pub(super) fn packages(input: &Input<'_>, build: &mut Build) -> bool {
    let Some(manifest) = manifest(input.files) else { return true };
    let manager = manager(&manifest, input.files);
    if let Some(why) = needs_source(&manifest, input.files) {
        build.note("/graphs", format!("packages are installed again on every edit of the source: {why}"));
        return false;
    }
    common::copy_manifests(input, &manifests(manager, input.files), build);
    build.step("/graphs", "packages from outside", install(manager, input.files));
    true
}

/// Installs packages behind the copy of the source.
pub(super) fn install_behind_copy(input: &Input<'_>, build: &mut Build) {
    if let Some(manifest) = manifest(input.files) {
        build.step(
            "/graphs",
            "packages that need their source",
            install(manager(&manifest, input.files), input.files),
        );
    }
}

/// What the project's own packages need where it lies on the user's machine; nothing where it has none.
pub(super) fn project(files: &dyn Files) -> Option<NodeProject> {
    let manifest = manifest(files)?;
    let is_empty = |group: &&str| manifest[*group].as_object().is_none_or(serde_json::Map::is_empty);
    if manifest["workspaces"].is_null() && GROUPS.iter().all(is_empty) {
        return None;
    }
    let manager = manager(&manifest, files);
    let locked = has_lock(manager, files);
    let install = if locked { manager.here_with_lock } else { manager.here_without_lock };
    Some(NodeProject {
        install: install.split(' ').map(str::to_owned).collect(),
        manifests: manifests(manager, files),
    })
}

/// Files that decide what is installed.
fn manifests(manager: &Manager, files: &dyn Files) -> Vec<String> {
    let beside = manager.locks.iter().chain(SETTINGS).filter(|file| files.is_file(file));
    ["package.json"].iter().chain(beside).map(|&file| file.to_owned()).collect()
}

fn has_lock(manager: &Manager, files: &dyn Files) -> bool {
    manager.locks.iter().any(|lock| files.is_file(lock))
}

fn install(manager: &Manager, files: &dyn Files) -> Action {
    let command = if has_lock(manager, files) { manager.with_lock } else { manager.without_lock };
    let mounts = vec![Mount::Cache { target: manager.cache.to_owned() }];
    Action::Run { mounts, commands: vec![Command::Shell(command.to_owned())] }
}

fn manifest(files: &dyn Files) -> Option<Value> {
    let text = files.text("package.json")?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

/// By lock file; else by what package.json says; else npm.
fn manager(manifest: &Value, files: &dyn Files) -> &'static Manager {
    let by_lock = MANAGERS.iter().find(|manager| has_lock(manager, files));
    let named = manifest["packageManager"]
        .as_str()
        .or_else(|| manifest["devEngines"]["packageManager"]["name"].as_str());
    let named = named.map(|name| name.split('@').next().unwrap_or(name));
    let by_name = || MANAGERS.iter().find(|manager| Some(manager.name) == named);
    let npm = || MANAGERS.iter().find(|manager| manager.name == "npm");
    by_lock.or_else(by_name).or_else(npm).unwrap_or(&MANAGERS[0])
}

/// Why the manifests alone are not enough.
fn needs_source(manifest: &Value, files: &dyn Files) -> Option<String> {
    if let Some(script) = LIFECYCLE.iter().find(|script| manifest["scripts"][**script].is_string()) {
        return Some(format!("package.json runs `{script}` when it is installed"));
    }
    if !manifest["workspaces"].is_null() || files.is_file("pnpm-workspace.yaml") {
        return Some("package.json has workspaces".to_owned());
    }
    let mut versions = GROUPS.iter().filter_map(|group| manifest[*group].as_object()).flatten();
    let local = versions.find(|(_, version)| {
        let version = version.as_str().unwrap_or_default();
        ["file:", "link:", "portal:", "patch:", "workspace:", "./", "../"]
            .iter()
            .any(|it| version.starts_with(it))
    });
    if let Some((name, _)) = local {
        return Some(format!("`{name}` is taken from the source"));
    }
    let patched = !manifest["pnpm"]["patchedDependencies"].is_null() || files.is_directory(".yarn");
    patched.then(|| "patches or a package manager are part of the source".to_owned())
}

fn shell(command: &str) -> Action {
    Action::Run { mounts: Vec::new(), commands: vec![Command::Shell(command.to_owned())] }
}
