//! The packages of a lock file, at exactly their versions and with their hashes.
//!
//! Their requirements files are written in a stage of their own, so that the layer of the packages depends on nothing
//! else: neither on the lock file, which changes with any package of the workspace, nor on the source.

use indexmap::IndexMap;

use crate::compiler::back::lower::common::copy_manifests;
use crate::compiler::back::lower::tools::{Tools, prefixed};
use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Command, Mount};
use crate::compiler::front::workspace::Locked;
use crate::compiler::manifests::uv_lock::Selected;
use crate::compiler::paths;

/// The stage that holds the requirements files, and their directory there.
const STAGE: (&str, &str) = ("requirements", "/requirements");

/// Where that directory is mounted during installation.
const MOUNT: &str = "/run/agentcli/requirements";

/// Maximum size of a requirements file in bytes. It is an argument of a command, and Linux has a limit of 128 KiB.
const MAX_FILE: usize = 64 * 1024;

/// A requirements file with packages of one index.
struct File {
    /// The index, unless it is the default one.
    index: Option<String>,
    lines: Vec<String>,
}

/// Writes the requirements files.
pub(super) fn stage(input: &Input<'_>, build: &mut Build) {
    let files = files(input);
    if files.is_empty() {
        return;
    }
    let why = "requirements of the lock file";
    let (image, (stage, directory)) = (input.resolved.base_image.reference.clone(), STAGE);
    build.step("/source", why, Action::From { image, stage: Some(stage.to_owned()) });
    for (number, File { lines, .. }) in files.into_iter().enumerate() {
        let write = Command::Write { lines, file: path(directory, number) };
        let commands = vec![prefixed(&["mkdir", "-p", directory], Vec::new()), write];
        build.step("/source", why, Action::Run { mounts: Vec::new(), commands });
    }
}

/// Installs the packages, with one command for each index: no package is looked up in the index of another one.
pub(super) fn install(input: &Input<'_>, locked: &Locked, tools: &Tools, build: &mut Build) {
    let mut indexes: IndexMap<Option<String>, Vec<String>> = IndexMap::new();
    for (number, file) in files(input).into_iter().enumerate() {
        indexes.entry(file.index).or_default().extend(["-r".to_owned(), path(MOUNT, number)]);
    }
    if indexes.is_empty() {
        return;
    }
    copy_manifests(input, &archives(locked), build);
    let commands = indexes.into_iter().map(|(index, files)| {
        let index = index.into_iter().flat_map(|index| ["--index-url".to_owned(), index]);
        tools.install(None, ["--no-deps".to_owned()].into_iter().chain(index).chain(files).collect())
    });
    let mut action = tools.run(commands.collect());
    if let Action::Run { mounts, .. } = &mut action {
        let (from, source) = STAGE;
        let (from, source, target) = (from.to_owned(), source.to_owned(), MOUNT.to_owned());
        mounts.push(Mount::Bind { from, source, target });
    }
    build.step("/source", "packages of the lock file", action);
}

/// The local archives, relative to the configuration's directory.
pub(super) fn archives(locked: &Locked) -> Vec<String> {
    let archives = locked.packages.iter().filter_map(|package| package.archive(&locked.python));
    archives.map(|path| paths::join(&locked.root, &path)).collect()
}

fn path(directory: &str, number: usize) -> String {
    format!("{directory}/{}.txt", number + 1)
}

fn files(input: &Input<'_>) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    let Some(locked) = &input.resolved.locked else { return files };
    for package in &locked.packages {
        let line = line(input, locked, package);
        let index = package.index();
        let has_room = |file: &&mut File| {
            let size: usize = file.lines.iter().map(|line| line.len() + 1).sum();
            file.index.as_deref() == index && size + line.len() < MAX_FILE
        };
        match files.iter_mut().rev().find(has_room) {
            Some(file) => file.lines.push(line),
            None => files.push(File { index: index.map(str::to_owned), lines: vec![line] }),
        }
    }
    files
}

fn line(input: &Input<'_>, locked: &Locked, package: &Selected) -> String {
    let place = |path: &str| input.layout.in_image(&paths::join(&locked.root, path));
    let requirement = package.requirement(&locked.python, place);
    let hashes = package.files(&locked.python).filter_map(|file| file.hash.as_ref());
    hashes.fold(requirement, |line, hash| format!("{line} --hash={hash}"))
}
