//! The packages of a lock file, at exactly their versions and with their hashes.
//!
//! Their requirements files are written by the step that installs them, so that its layer depends on nothing else: neither
//! on the lock file, which changes with any package of the workspace, nor on the source. Files that are too long for one
//! command are written in a stage.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::back::lower::tools::{Tools, prefixed, words};
use crate::back::lower::{Build, Input, common};
use crate::back::plan::{Action, Command, Mount};
use crate::back::resolve::{Installer, Pins, Resolved};
use crate::front::workspace::Locked;
use crate::manifests::uv_lock::Selected;
use crate::paths;
use crate::words::listed;

/// The stage that holds the requirements files.
const STAGE: &str = "requirements";

/// Their directory while the packages are installed: not at the root, since BuildKit hashes all files beside a directory that
/// it takes from a stage.
pub const DIRECTORY: &str = "/tmp/requirements";

/// The requirements that versions are chosen for.
pub(super) const REQUIRED: &str = "/tmp/requirements/required.txt";

/// Printed if there are no such versions.
const UNRESOLVED: &str = "not resolved: the packages of the lock file are installed first";

/// Maximum size of a requirements file in bytes. It is an argument of a command, and Linux has a limit of 128 KiB.
const MAX_FILE: usize = 64 * 1024;

/// A requirements file with packages of one kind. pip wants hashes of all packages of a command, or of none.
struct File {
    /// The index, unless it is the default one.
    index: Option<String>,
    has_hashes: bool,
    /// Whether the versions exclude what the server needs.
    is_excluding: bool,
    lines: Vec<String>,
}

impl File {
    fn size(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 1).sum()
    }
}

/// Says of each lock file beside a local dependency that it is used, and what of it is not.
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

/// The requirements files of all packages.
pub(super) struct Files(Vec<File>);

impl Files {
    pub(super) fn new(input: &Input<'_>) -> Self {
        let mut files: Vec<File> = Vec::new();
        for (locked, package) in packages(input.resolved.locks()) {
            let pins = input.resolved.pins.iter().filter(|pins| pins.locked.root == locked.root);
            let mut excluding = pins.flat_map(|pins| &pins.excluding);
            let line = line(input, locked, package);
            let kind = File {
                index: package.index().map(str::to_owned),
                has_hashes: line.contains(" --hash="),
                is_excluding: excluding.any(|name| *name == package.package.name),
                lines: Vec::new(),
            };
            add(line, kind, &mut files);
        }
        Self(files)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether they are too long for one command.
    fn is_staged(&self) -> bool {
        self.0.iter().map(File::size).sum::<usize>() > MAX_FILE
    }

    /// Writes them in a stage, if they need one.
    pub(super) fn stage(&self, input: &Input<'_>, build: &mut Build) {
        if !self.is_staged() {
            return;
        }
        let (key, why) = (key(input), "requirements of the lock file");
        let image = input.resolved.base_image.reference.clone();
        build.step(key, why, Action::From { image, stage: Some(STAGE.to_owned()) });
        for write in self.writes() {
            let commands = vec![prefixed(&["mkdir", "-p", DIRECTORY], Vec::new()), write];
            build.step(key, why, Action::Run { mounts: Vec::new(), commands });
        }
    }

    fn writes(&self) -> impl Iterator<Item = Command> {
        let write =
            |(number, file): (usize, &File)| Command::Write { lines: file.lines.clone(), file: path(number) };
        self.0.iter().enumerate().map(write)
    }

    /// The installations of the packages, one for each index: no package is looked up in the index of another one.
    pub(super) fn commands(&self, tools: &Tools) -> Vec<Command> {
        let mut groups: IndexMap<(&Option<String>, bool), Vec<String>> = IndexMap::new();
        for (number, file) in self.0.iter().enumerate() {
            let group = groups.entry((&file.index, file.has_hashes)).or_default();
            group.extend(["-r".to_owned(), path(number)]);
        }
        let commands = groups.into_iter().map(|((index, _), files)| {
            let index = index.iter().flat_map(|index| ["--index-url".to_owned(), index.clone()]);
            tools.install(None, ["--no-deps".to_owned()].into_iter().chain(index).chain(files).collect())
        });
        commands.collect()
    }

    /// Whether some are known to conflict with the server, so that others would be installed again, and versions that fit
    /// can be resolved: all requirements are known, no package has a version for each machine, and all come from the default
    /// index, which would be asked for packages of another one.
    pub(super) fn have_conflicts(&self, resolved: &Resolved) -> bool {
        let mut pins = resolved.pins.iter();
        resolved.installer == Installer::Uv
            && !self.is_empty()
            && pins.any(|pins| !pins.removed.is_empty() || !pins.excluding.is_empty())
            && packages(resolved.locks()).all(|(_, it)| it.is_from_default_index() && !it.is_forked)
            && resolved.projects().all(|it| it.requirements.is_some() && it.indexed.is_empty())
    }

    /// The installation of the versions that fit the requirements and the server: those of the lock file, or those of the
    /// image, or newer ones. If uv finds none, the lock file is installed as it is: the installation that follows also takes
    /// versions that only the image has.
    pub(super) fn resolved(&self, requirements: Vec<String>, tools: &Tools) -> Vec<Command> {
        let file = |name: &str| format!("{DIRECTORY}/{name}.txt");
        let image = file("image");
        let bounds = file("bounds");
        let result = file("resolved");
        let names = |is_meant: fn(&File) -> bool| {
            let files = self.0.iter().enumerate().filter(|(_, file)| is_meant(file));
            files.map(|(number, _)| path(number)).collect::<Vec<_>>().join(" ")
        };
        let all = names(|_| true);
        let preferred = names(|file| !file.is_excluding);
        let resolve = Tools::resolve(REQUIRED, &bounds, &result);
        let shell = [
            // The first line of each package.
            format!("awk -F = '!seen[$1]++' {preferred} {image} > {result}"),
            // Lower bounds for the packages that only the image has.
            format!("grep -xF -f {image} {result} | sed 's/==/>=/; s/+.*//' > {bounds}"),
            format!("({resolve} || (echo '{UNRESOLVED}' && cat {all} > {result}))"),
            // The versions in which the lock file and the resolution differ, those of the lock file first.
            format!("grep -oh '^[^ ]*==[^ ]*' {all} {result} | sort -s -t = -k 1,1 | uniq -u"),
        ];
        let write = Command::Write { lines: requirements, file: REQUIRED.to_owned() };
        let install = tools.alone(None, vec!["-r".to_owned(), result]);
        let first = [write, tools.write_installed(&image)];
        first.into_iter().chain(shell.into_iter().map(Command::Shell)).chain([install]).collect()
    }

    /// `commands` with the files there, which are removed afterwards.
    pub(super) fn written(&self, commands: Vec<Command>) -> Vec<Command> {
        if self.0.is_empty() || self.is_staged() {
            return commands;
        }
        let written = [words(["mkdir", DIRECTORY])].into_iter().chain(self.writes());
        written.chain(commands).chain([words(["rm", "-r", DIRECTORY])]).collect()
    }

    /// The mount of the stage. What is written there is in no layer.
    pub(super) fn mount(&self, is_writable: bool) -> Option<Mount> {
        self.is_staged().then(|| common::mount(STAGE, DIRECTORY, is_writable))
    }
}

/// The local archives, relative to the configuration's directory.
pub(super) fn archives(locked: &Locked) -> Vec<String> {
    let archives = locked.packages.iter().filter_map(|package| package.archive(&locked.python));
    archives.map(|path| paths::join(&locked.root, &path)).collect()
}

/// The configuration key that asks for the lock file's packages.
pub(super) fn key(input: &Input<'_>) -> &'static str {
    if input.resolved.locked.is_some() { "/source" } else { "/dependencies" }
}

fn path(number: usize) -> String {
    format!("{DIRECTORY}/{}.txt", number + 1)
}

/// The packages of all `locks`. One of several lock files has the version of the first.
fn packages<'a>(locks: impl Iterator<Item = &'a Locked>) -> impl Iterator<Item = (&'a Locked, &'a Selected)> {
    let mut known: HashMap<&str, &str> = HashMap::new();
    let all = locks.flat_map(|locked| locked.packages.iter().map(move |package| (locked, package)));
    all.filter(move |(locked, it)| *known.entry(&it.package.name).or_insert(&locked.root) == locked.root)
}

/// Constraints to the versions of the lock files beside local dependencies.
pub(super) fn constraints(resolved: &Resolved) -> Vec<String> {
    packages(resolved.pins.iter().map(|pins| &pins.locked))
        .filter_map(|(locked, it)| it.constraint(&locked.python))
        .collect()
}

fn add(line: String, kind: File, files: &mut Vec<File>) {
    let is_like = |file: &File| {
        (&file.index, file.has_hashes, file.is_excluding) == (&kind.index, kind.has_hashes, kind.is_excluding)
    };
    match files.iter_mut().rev().find(|file| is_like(file)).filter(|file| file.size() + line.len() < MAX_FILE)
    {
        Some(file) => file.lines.push(line),
        None => files.push(File { lines: vec![line], ..kind }),
    }
}

fn line(input: &Input<'_>, locked: &Locked, package: &Selected) -> String {
    let place = |path: &str| input.layout.in_image(&paths::join(&locked.root, path));
    let requirement = package.requirement(&locked.python, place);
    let hashes = package.files(&locked.python).filter_map(|file| file.hash.as_ref());
    hashes.fold(requirement, |line, hash| format!("{line} --hash={hash}"))
}
