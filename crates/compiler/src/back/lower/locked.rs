//! Lock files: what of them is installed, and how each is read.

use std::collections::HashMap;

use crate::back::lower::{Build, Input};
use crate::back::plan::{GeneratedFile, Installer, Lock, LockFormat, MARK};
use crate::back::resolve::{Pins, Resolved};
use crate::front::workspace::Locked;
use crate::manifests::uv_lock;
use crate::paths;
use crate::words::listed;

/// The lock that uv reads as a requirements file.
const PYLOCK: &str = "pylock.toml";

/// Notes for each lock file beside a local dependency that it is used, and what of it is not.
pub(super) fn notes(resolved: &Resolved, build: &mut Build) {
    for Pins { index, locked, removed, excluding } in &resolved.pins {
        let key = index.map_or("/dependencies".to_owned(), |index| format!("/dependencies/{index}"));
        let path = &locked.file;
        build.note(
            &key,
            format!("the versions of `{path}` are installed; --no-lock installs the newest ones"),
        );
        if !removed.is_empty() {
            let names = listed(removed.iter().map(String::as_str));
            build.note(
                &key,
                format!(
                    "the server does not work with the versions of {names} in `{path}`, and keeps its own"
                ),
            );
        }
        if !excluding.is_empty() {
            let names = listed(excluding.iter().map(String::as_str));
            build.note(
                &key,
                format!(
                    "the versions of {names} in `{path}` exclude what the server needs: others are installed"
                ),
            );
        }
    }
}

/// The lock files of an image. Of a package in several of them, the version of the first is installed, which therefore comes
/// last.
pub(super) fn locks(input: &Input<'_>) -> Vec<Lock> {
    let mut locks = Vec::new();
    let mut generated = 0;
    for locked in input.resolved.locks() {
        let mut lock = lock(input, locked);
        if lock.format == LockFormat::Requirements {
            generated += 1;
            lock.requirements = Some(requirements(input, locked, generated));
        }
        locks.push(lock);
    }
    locks.reverse();
    locks
}

fn lock(input: &Input<'_>, locked: &Locked) -> Lock {
    let source = input.config.source.as_ref().filter(|_| input.resolved.locked.is_some());
    let format = match (paths::file_name(&locked.file), input.resolved.installer) {
        (uv_lock::NAME, Installer::Uv) => LockFormat::Uv,
        (PYLOCK, Installer::Uv) => LockFormat::Pylock,
        _ => LockFormat::Requirements,
    };
    Lock {
        file: input.layout.in_context(&locked.file),
        root: input.layout.in_context(&locked.root),
        format,
        package: locked.target.clone().filter(|_| locked.has_members),
        extras: source.map(|source| source.extras.clone()).unwrap_or_default(),
        groups: source.map(|source| source.groups.clone()).unwrap_or_default(),
        has_members: locked.has_members,
        left_out: locked.left_out.clone(),
        indexes: locked.indexes(),
        requirements: None,
    }
}

/// The files that a lock is read from, relative to the context root.
pub(super) fn manifests(input: &Input<'_>, lock: &Lock) -> Vec<String> {
    let resolved = input.resolved;
    let locked = resolved.locks().find(|locked| input.layout.in_context(&locked.file) == lock.file);
    let archives = locked.into_iter().flat_map(archives).map(|path| input.layout.in_context(&path));
    let files: Vec<String> = match lock.format {
        LockFormat::Uv => {
            let root = paths::join(&lock.root, "pyproject.toml");
            let members = resolved.locals.iter().filter(|_| resolved.locked.is_some());
            let members = members.map(|it| input.layout.in_context(&paths::join(&it.path, "pyproject.toml")));
            [root].into_iter().chain(members).chain([lock.file.clone()]).collect()
        }
        LockFormat::Pylock => vec![lock.file.clone()],
        LockFormat::Requirements => lock.requirements.iter().map(|file| file.path.clone()).collect(),
    };
    files.into_iter().chain(archives).collect()
}

/// The requirements file with the packages of a lock and their hashes, for the Python version of the image. `number` counts
/// these files.
fn requirements(input: &Input<'_>, locked: &Locked, number: usize) -> GeneratedFile {
    let place = |path: &str| input.layout.in_image(&paths::join(&locked.root, path));
    let file = &locked.file;
    let mut text = format!("{MARK}from {file}, for Python {} on Linux.\n", locked.python);
    for package in &locked.packages {
        text.push_str(&package.requirement(&locked.python, place));
        for hash in package.files(&locked.python).filter_map(|file| file.hash.as_ref()) {
            text.push_str(&format!(" \\\n    --hash={hash}"));
        }
        text.push('\n');
    }
    let number = if number == 1 { String::new() } else { format!("-{number}") };
    let ending = format!(".requirements{number}.txt");
    GeneratedFile { path: input.layout.in_context(&format!("Dockerfile{ending}")), ending, text }
}

/// The local archives of a lock, relative to the configuration's directory.
pub(super) fn archives(locked: &Locked) -> Vec<String> {
    let archives = locked.packages.iter().filter_map(|package| package.archive(&locked.python));
    archives.map(|path| paths::join(&locked.root, &path)).collect()
}

/// Constraints to the versions of the lock files beside local dependencies.
pub(super) fn constraints(resolved: &Resolved) -> Vec<String> {
    let locks = resolved.pins.iter().map(|pins| &pins.locked);
    let packages = locks.flat_map(|locked| locked.packages.iter().map(move |package| (locked, package)));
    let mut known: HashMap<&str, &str> = HashMap::new();
    // Of several lock files, the first decides.
    packages
        .filter(|(locked, it)| *known.entry(&it.package.name).or_insert(&locked.root) == locked.root)
        .filter_map(|(locked, it)| it.constraint(&locked.python))
        .collect()
}
