//! The Python server's image: first what changes least, last the source.
//!
//! Requirements, then the packages themselves from skeletons, then what the server needs afterwards, and at the
//! end one copy of the source with nothing run behind it. What cannot be installed from a skeleton is installed
//! behind the copy, and a note says why.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::back::lower::common::{base, copy_manifests, source, source_stage};
use crate::compiler::back::lower::groups::{self, Groups};
use crate::compiler::back::lower::installed::{Installed, wait_for_neighbours};
use crate::compiler::back::lower::late::{Late, own_packages};
use crate::compiler::back::lower::layout;
use crate::compiler::back::lower::tools::{Tools, prefixed, removal, removed_tools, words};
use crate::compiler::back::lower::{Build, Input, image, javascript};
use crate::compiler::back::plan::{Action, Variant};
use crate::compiler::manifests::dependency::{self, Dependency, Local, LocalKind};
use crate::compiler::manifests::package::{Install, UvSettings};
use crate::compiler::manifests::requirement;
use crate::compiler::manifests::requirements_txt::RequirementsFile;
use crate::compiler::{paths, server};

/// Adds a directory to the import path, as an installed package would.
const ADD_TO_PATH: &str = r#"import site,sys;open(site.getsitepackages()[0]+"/agentcli.pth","w",encoding="utf-8").write("\n".join(sys.argv[1:])+"\n")"#;

/// The project's own packages, each with what its manifests say.
pub(super) fn packages<'a>(input: &Input<'a>) -> Vec<Installed<'a>> {
    let mut packages: Vec<Installed<'a>> =
        of_kind(input, LocalKind::Package).map(|local| Installed::new(local, input)).collect();
    wait_for_neighbours(&mut packages);
    packages
}

pub(super) fn steps(
    input: &Input<'_>,
    packages: &[Installed<'_>],
    contract: &IndexMap<String, Value>,
    build: &mut Build,
) {
    let files: Vec<RequirementsFile> =
        input.layout.locals.iter().filter_map(|local| layout::requirements(local, input.files)).collect();
    let tools = Tools::new(input);
    let image = image::reference(input.config, input.variant);
    let late = Late::new(input, &tools, packages, &files, build);
    tools.stage(input, build);
    source_stage(input, &image, build);
    base(input, &image, late.server_stage(), build);
    late.prepare(&tools, build);
    if input.variant == Variant::Mixed {
        node(input, build);
    }
    requirements(input, &tools, packages, &files, build);
    skeletons(input, &tools, packages, build);
    import_path(input, build);
    // Nothing that comes later can replace them, unless it brings requirements of its own.
    if !late.brings_requirements {
        assert_own_packages(&tools, build);
    }
    if !late.uses_tools_of_image() {
        remove_tools(input, build);
    }
    build.step("/graphs", "", Action::Workdir { path: input.layout.project.clone() });
    let has_packages = input.variant != Variant::Mixed || javascript::packages(input, build);
    build.step(
        "/graphs",
        "what the server reads from its environment",
        Action::Env { variables: contract.clone() },
    );
    source(input, build);
    if !has_packages {
        javascript::install_behind_copy(input, build);
    }
    late.step(input, &tools, build);
    if input.variant == Variant::Mixed {
        javascript::prepare(build);
    }
}

fn of_kind<'a>(input: &Input<'a>, kind: LocalKind) -> impl Iterator<Item = &'a Local> + use<'a> {
    input.layout.locals.iter().filter(move |local| local.kind == kind)
}

fn node(input: &Input<'_>, build: &mut Build) {
    let key = if input.config.has_ui { "/ui" } else { "/node_version" };
    let version = Value::String(image::node(input.config));
    let variables = [(server::NODE_VERSION.to_owned(), version)].into_iter().collect();
    build.step(key, "the Node.js version", Action::Env { variables });
    let commands = vec![words([server::INSTALL_NODE])];
    build.step(
        key,
        "Node.js, for graphs and UI components in JavaScript",
        Action::Run { mounts: Vec::new(), commands },
    );
}

/// Everything that comes from outside, in one installation so that versions are chosen together.
fn requirements(
    input: &Input<'_>,
    tools: &Tools,
    packages: &[Installed<'_>],
    files: &[RequirementsFile],
    build: &mut Build,
) {
    let mut groups = Groups::default();
    let named = named_packages(input);
    let own = if named.is_empty() { None } else { settings(input, ".", build) };
    named.iter().for_each(|requirement| groups.require(input, own.as_ref(), requirement));
    let mut left_out: Vec<&String> = packages.iter().filter_map(|it| it.name.as_ref()).collect();
    let elsewhere = packages.iter().flat_map(|it| &it.package.sources.elsewhere);
    if tools.reads_sources(packages.iter().map(|it| &it.package)) {
        left_out.extend(elsewhere);
    } else if let Some(name) = elsewhere.into_iter().next() {
        let why = "pip does not read uv's sources, and uv cannot where others of them lead to directories";
        build.note("/dependencies", format!("`{name}` is taken from the package index: {why}"));
    }
    for Installed { package, settings, .. } in packages {
        for requirement in package.requirements.iter().flatten() {
            if !requirement::name(requirement).is_some_and(|name| left_out.contains(&&name)) {
                groups.require(input, settings.as_ref(), requirement);
            }
        }
    }
    for file in files.iter().filter(|file| !file.is_local()) {
        copy_manifests(input, &file.files, build);
        let settings = settings(input, &paths::parent(&file.path), build);
        groups.add(input, settings.as_ref(), ["-r".to_owned(), input.layout.in_image(&file.path)]);
    }
    if !groups.is_empty() {
        copy_manifests(input, &groups.manifests, build);
        build.step("/dependencies", "packages from outside", tools.run(groups.commands(tools)));
    }
}

/// The settings with which uv can install what `path` asks for before the source is there.
fn settings(input: &Input<'_>, path: &str, build: &mut Build) -> Option<UvSettings> {
    let settings = groups::settings(input, path)?;
    if settings.need_source {
        let why = "it is installed without uv's settings, for they name a place in the source";
        let note = format!("what `{path}` asks for comes from the default package index: {why}");
        if !build.notes.iter().any(|known| known.message == note) {
            build.note("/dependencies", note);
        }
        return None;
    }
    Some(settings)
}

pub(super) fn named_packages(input: &Input<'_>) -> Vec<String> {
    let entries = input.config.entries();
    entries
        .filter_map(|(_, entry)| match dependency::classify(entry, input.files) {
            Dependency::Package(requirement) => Some(requirement),
            Dependency::Local { .. } => None,
        })
        .collect()
}

/// The packages that can be installed before their source is there.
fn skeletons(input: &Input<'_>, tools: &Tools, packages: &[Installed<'_>], build: &mut Build) {
    let (mut directories, mut touched, mut editable) = (Vec::new(), Vec::new(), Groups::default());
    for installed in packages {
        let Installed { local, package, settings, .. } = installed;
        let Install::Skeleton { manifests, placeholders } = &package.install else { continue };
        let manifests: Vec<String> = manifests.iter().map(|file| paths::join(&local.path, file)).collect();
        copy_manifests(input, &manifests, build);
        for placeholder in placeholders {
            let name = placeholder.trim_end_matches('/');
            let place = input.layout.in_image(&paths::join(&local.path, name));
            if name == placeholder {
                directories.push(paths::parent(&place));
                touched.push(place);
            } else {
                directories.push(place);
            }
        }
        editable.add(input, settings.as_ref(), installed.editable(input));
    }
    copy_manifests(input, &editable.manifests, build);
    if editable.is_empty() {
        return;
    }
    directories.sort();
    directories.dedup();
    let mut commands = Vec::new();
    if !directories.is_empty() {
        commands.push(prefixed(&["mkdir", "-p"], directories));
    }
    if !touched.is_empty() {
        commands.push(prefixed(&["touch"], touched));
    }
    let without_sources = tools.without_sources(packages.iter().map(|it| &it.package));
    commands.extend(editable.editable(tools, without_sources.as_ref()));
    build.step(
        "/dependencies",
        "the project's packages, installed before their source is there",
        tools.run(commands),
    );
}

/// Directories that are imported from without being packages.
fn import_path(input: &Input<'_>, build: &mut Build) {
    let plain = of_kind(input, LocalKind::Plain).map(|local| input.layout.in_image(&local.path));
    let flat =
        of_kind(input, LocalKind::Flat).map(|local| paths::parent(&input.layout.in_image(&local.path)));
    let mut directories: Vec<String> = plain.chain(flat).collect();
    directories.sort();
    directories.dedup();
    if !directories.is_empty() {
        let commands = vec![prefixed(&["python3", "-c", ADD_TO_PATH], directories)];
        build.step("/dependencies", "the import path", Action::Run { mounts: Vec::new(), commands });
    }
}

fn assert_own_packages(tools: &Tools, build: &mut Build) {
    let why = "the server's own packages, in case others replaced them";
    build.step("/dependencies", why, tools.run(own_packages(tools)));
}

fn remove_tools(input: &Input<'_>, build: &mut Build) {
    let commands = removal(&removed_tools(input.config));
    if !commands.is_empty() {
        let action = Action::Run { mounts: Vec::new(), commands };
        build.step("/keep_pkg_tools", "no package tools in the image", action);
    }
}
