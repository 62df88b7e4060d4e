//! The Python server's image, from what changes least to what changes most.
//!
//! Requirements are installed first, then the local packages from their skeletons, and the source is copied last. If a
//! package needs its source, the local packages are installed after the copy, and a note says why.

use indexmap::IndexMap;
use serde_json::Value;

use crate::back::lower::common::{base, copy_manifests, source, source_stage};
use crate::back::lower::groups::Groups;
use crate::back::lower::late::Late;
use crate::back::lower::packages::Packages;
use crate::back::lower::tools::{Tools, words};
use crate::back::lower::{Build, Input, bytecode, image_server, javascript, locked, npm_secrets, own_server};
use crate::back::plan::{Action, Command, Step, Variant};
use crate::back::resolve::LocalPackage;
use crate::manifests::package::UvSettings;
use crate::manifests::requirement;
use crate::{paths, server};

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    let is_mixed = input.resolved.variant == Variant::Mixed;
    let tools = Tools::new(input.resolved);
    let late = Late::new(input, build);
    Tools::stage(input, build);
    let locked = locked::Files::new(input);
    locked.stage(input, build);
    npm_secrets::stage(input, build);
    source_stage(input, build);
    let packages = Packages::stages(input, &tools, build);
    base(input, None, build);
    if input.config.dockerfile_lines.as_ref().is_some_and(|lines| !lines.is_empty()) {
        let why = "the server's own packages, if these lines replaced them";
        build.step("/dockerfile_lines", why, tools.run(vec![tools.restore_server(input.config.server)]));
    }
    image_server::user(input, build);
    if is_mixed {
        node(input, build);
    }
    let has_requirements = requirements(input, &locked, &Tools::for_requirements(input.resolved), build);
    let has_packages = packages.install(input, &tools, build);
    if has_requirements || !input.resolved.has_all_requirements() && has_packages {
        bytecode(input, &tools, has_packages, build);
    }
    import_path(input, &tools, build);
    append(&tools, late.early_removal(input), "package tools are removed", "/keep_pkg_tools", build);
    build.step("/graphs", "", Action::Workdir { path: input.layout.project.clone() });
    let has_packages = !is_mixed || javascript::packages(input, build);
    build.step("/graphs", "server settings", Action::Env { variables: contract.clone() });
    source(input, build);
    if !has_packages {
        javascript::install_after_copy(input, build);
    }
    late.step(input, &tools, build);
    if is_mixed {
        javascript::prebuild(build);
    }
    image_server::start(input, build);
}

/// Compiles the installed packages, in the step of the local ones or in one of its own: the requirements are not installed
/// again when the project imports another of them.
fn bytecode(input: &Input<'_>, tools: &Tools, has_packages: bool, build: &mut Build) {
    let (key, why) = ("/graphs", "bytecode of imported packages");
    let commands = bytecode::imported(input).to_vec();
    if has_packages {
        append(tools, commands, why, key, build);
    } else {
        build.step(key, why, tools.run(commands));
    }
}

fn node(input: &Input<'_>, build: &mut Build) {
    let key = if input.config.has_ui { "/ui" } else { "/node_version" };
    let why = "Node.js for JavaScript graphs and UI components";
    let version = Value::String(input.resolved.node.clone().unwrap_or_default());
    let variables = [(server::NODE_VERSION.to_owned(), version)].into_iter().collect();
    build.step(key, why, Action::Env { variables });
    let commands = vec![words([server::INSTALL_NODE])];
    build.step(key, why, Action::Run { mounts: Vec::new(), commands });
}

/// Installs the packages of lock files, and then all requirements with one command, so that their versions are resolved
/// together. Both are one step: what the second command replaces is in no layer. Returns whether there are any.
fn requirements(input: &Input<'_>, locked: &locked::Files, tools: &Tools, build: &mut Build) -> bool {
    let archives: Vec<String> = input.resolved.locks().flat_map(locked::archives).collect();
    copy_manifests(input, &archives, build);
    let mut groups = groups(input, build);
    let (is_locked, is_resolved) = (!locked.is_empty(), !groups.is_empty());
    let has_conflicts = locked.have_conflicts(input.resolved);
    let required = has_conflicts.then(|| groups.name_file(locked::REQUIRED)).flatten();
    let mounts = locked.mount(required.is_some()).into_iter().collect();
    let requirements = groups.commands(input, tools);
    let mut commands = match required {
        Some(required) => {
            let resolved = locked.resolved(required, tools);
            locked.written(resolved.into_iter().chain(requirements).collect())
        }
        None => locked.written(locked.commands(tools)).into_iter().chain(requirements).collect(),
    };
    if commands.is_empty() {
        return false;
    }
    if !archives.is_empty() || !input.resolved.archives.is_empty() {
        commands.extend(tools.tidying());
    }
    let why = match (is_locked, is_resolved) {
        (false, _) => "requirements",
        (true, false) => "packages of the lock file",
        (true, true) => "packages of the lock file, in other versions where the server needs them",
    };
    build.step(locked::key(input), why, tools.run_with(commands, mounts));
    true
}

/// All requirements but those of lock files, and what they are read from.
fn groups(input: &Input<'_>, build: &mut Build) -> Groups {
    let resolved = input.resolved;
    let mut groups = Groups::default();
    if resolved.locked.is_some() {
        // Only what the server requires.
        groups.add(input, None, []);
        return groups;
    }
    let own = if resolved.requirements.is_empty() { None } else { settings(input, ".", build) };
    for requirement in own_server::without(&resolved.requirements, build) {
        groups.require(input, own.as_ref(), &requirement);
    }
    let indexed = indexed(input, build);
    for project in resolved.projects() {
        let is_indexed = |text: &str| requirement::name(text).is_some_and(|name| indexed.contains(&name));
        let others = project.requirements.iter().flatten().filter(|text| !is_indexed(text));
        for requirement in own_server::without(others, build) {
            groups.require(input, project.settings.as_ref(), &requirement);
        }
    }
    for file in resolved.files.iter().filter(|file| !file.is_local()) {
        let settings = settings(input, paths::parent(&file.path), build);
        match &file.others {
            Some(others) => {
                for requirement in own_server::without(others, build) {
                    groups.require(input, settings.as_ref(), &requirement);
                }
            }
            None => {
                copy_manifests(input, &file.files, build);
                groups.add(input, settings.as_ref(), ["-r".to_owned(), input.layout.in_image(&file.path)]);
            }
        }
    }
    copy_manifests(input, &resolved.archives.iter().map(|it| it.path.clone()).collect::<Vec<_>>(), build);
    groups.require_archives(input);
    copy_manifests(input, &groups.manifests, build);
    groups
}

/// Names of requirements that uv installs with the local packages, since it finds their indexes in their manifests.
fn indexed(input: &Input<'_>, build: &mut Build) -> Vec<String> {
    let (installed, others) = (&input.resolved.packages, &input.resolved.virtuals);
    let names = |all: &[LocalPackage]| all.iter().flat_map(|it| it.indexed.clone()).collect::<Vec<_>>();
    let reads_sources = input.resolved.reads_sources();
    let (read, mut unread) =
        if reads_sources { (names(installed), Vec::new()) } else { (Vec::new(), names(installed)) };
    unread.extend(names(others));
    for name in unread {
        let why =
            "pip does not read the indexes in uv's sources, and uv cannot beside sources that are paths";
        build.note("/dependencies", format!("`{name}` is taken from the default package index: {why}"));
    }
    read
}

/// The uv settings for the requirements of `path`, if they can be used before the source is there.
fn settings(input: &Input<'_>, path: &str, build: &mut Build) -> Option<UvSettings> {
    let settings = input.resolved.uv_settings(path, input.files)?;
    if !settings.need_source {
        return Some(settings);
    }
    let why = "uv's settings name a directory of the source, which is not there yet";
    let note = format!("the requirements of `{path}` are taken from the default package index: {why}");
    if !build.notes.iter().any(|known| known.message == note) {
        build.note("/dependencies", note);
    }
    None
}

/// Adds directories to the end of Python's import path, in the order of `dependencies`. A path file does that as an
/// editable package would: installed packages and the standard library win, and `PYTHONPATH` stays the user's.
fn import_path(input: &Input<'_>, tools: &Tools, build: &mut Build) {
    let path = &input.resolved.import_path;
    if path.is_empty() {
        return;
    }
    let lines = path.iter().map(|directory| input.layout.in_image(directory)).collect();
    let write = Command::Write { lines, file: server::PATH_FILE.to_owned() };
    append(tools, vec![write], "import path", "/dependencies", build);
}

/// Runs commands in the last step, if that runs commands: a step of its own takes longer than these.
fn append(tools: &Tools, commands: Vec<Command>, why: &str, key: &str, build: &mut Build) {
    match build.steps.last_mut() {
        _ if commands.is_empty() => {}
        Some(Step { why: whole, action: Action::Run { commands: before, .. }, .. }) => {
            before.extend(commands);
            *whole = format!("{whole}; {why}");
        }
        _ => build.step(key, why, tools.run(commands)),
    }
}
