//! The Python server's image: first what changes least, last the source.
//!
//! Requirements, then the packages themselves from skeletons, then what the server needs afterwards, and at the
//! end one copy of the source with nothing run behind it. What cannot be installed from a skeleton is installed
//! behind the copy, and a note says why.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::dependency::{self, Dependency, Local, LocalKind};
use crate::compiler::files::Files;
use crate::compiler::lower::layout;
use crate::compiler::lower::tools::{Tools, pip_config, prefixed, removal, removed_tools, words};
use crate::compiler::lower::{Build, Input, image, javascript};
use crate::compiler::package::{self, Install, Package};
use crate::compiler::plan::{Action, Command, Variant};
use crate::compiler::requirement;
use crate::compiler::requirements_file::RequirementsFile;
use crate::compiler::server::variables;
use crate::compiler::{paths, server};

/// The stage that holds the source without the pip configuration.
const SOURCE_STAGE: &str = "source";

/// Adds a directory to the import path, as an installed package would.
const ADD_TO_PATH: &str = r#"import site,sys;open(site.getsitepackages()[0]+"/agentcli.pth","w",encoding="utf-8").write("\n".join(sys.argv[1:])+"\n")"#;

/// A local dependency and what its manifests say.
struct Installed<'a> {
    local: &'a Local,
    /// Normalised.
    name: Option<String>,
    package: Package,
}

impl<'a> Installed<'a> {
    fn new(local: &'a Local, files: &dyn Files) -> Self {
        let package = package::package(local, files);
        let name = package.name.clone().or_else(|| local.distribution_name(files));
        Self { local, name: name.map(|name| requirement::normalized_name(&name)), package }
    }

    fn is_early(&self) -> bool {
        matches!(self.package.install, Install::Skeleton { .. })
    }
}

/// A package that needs one of its neighbours cannot be installed before it: an index would be asked for it, which
/// has no such package, or somebody else's.
fn wait_for_neighbours(packages: &mut [Installed<'_>]) {
    let mut late: Vec<String> = Vec::new();
    loop {
        let more = packages.iter().filter(|it| !it.is_early()).filter_map(|it| it.name.clone());
        let more: Vec<String> = more.filter(|name| !late.contains(name)).collect();
        if more.is_empty() {
            return;
        }
        late.extend(more);
        for Installed { package, .. } in packages.iter_mut().filter(|it| it.is_early()) {
            let requirements =
                package.requirements.as_ref().map(|all| all.iter().filter_map(|it| name_of(it)));
            let needed =
                |name: String| late.contains(&name).then(|| format!("it needs `{name}`, which is too"));
            match requirements {
                Some(mut names) => {
                    let why = names.find_map(needed);
                    drop(names);
                    package.install = why.map_or(package.install.clone(), Install::AfterCopy);
                }
                None => package.install = Install::Plain(format!("it may need `{}`, which is too", late[0])),
            }
        }
    }
}

/// Whether a package needs more of one of its neighbours than the neighbour's own requirements.
fn has_extras_of(package: &Package, neighbours: &[Installed<'_>]) -> bool {
    let needed =
        package.requirements.iter().flatten().filter(|it| it.contains('[')).filter_map(|it| name_of(it));
    let own: Vec<&String> = neighbours.iter().filter_map(|it| it.name.as_ref()).collect();
    needed.into_iter().any(|name| own.contains(&&name))
}

fn name_of(requirement: &str) -> Option<String> {
    requirement::parse(requirement).ok().and_then(|it| it.name)
}

pub(super) fn steps(input: &Input<'_>, contract: &IndexMap<String, Value>, build: &mut Build) {
    let mut packages: Vec<Installed<'_>> =
        of_kind(input, LocalKind::Package).map(|local| Installed::new(local, input.files)).collect();
    wait_for_neighbours(&mut packages);
    let files: Vec<RequirementsFile> =
        input.layout.locals.iter().filter_map(|local| layout::requirements(local, input.files)).collect();
    let tools = Tools::new(input);
    let image = image::reference(input.config, input.variant);
    tools.stage(input, build);
    source_stage(input, &image, build);
    base(input, &image, build);
    if input.variant == Variant::Mixed {
        node(input, build);
    }
    requirements(input, &tools, &packages, &files, build);
    skeletons(input, &tools, &packages, build);
    import_path(input, build);
    let late = Late::new(input, &tools, &packages, &files, build);
    // Nothing that comes later can replace them, unless it brings requirements of its own.
    if !late.brings_requirements {
        assert_own_packages(&tools, build);
    }
    if late.commands.is_empty() {
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
    if !late.commands.is_empty() {
        late_step(input, &tools, late, build);
    }
    if input.variant == Variant::Mixed {
        javascript::prepare(build);
    }
}

fn of_kind<'a>(input: &Input<'a>, kind: LocalKind) -> impl Iterator<Item = &'a Local> + use<'a> {
    input.layout.locals.iter().filter(move |local| local.kind == kind)
}

/// The image that everything is built on, and the user's own lines.
pub(super) fn base(input: &Input<'_>, image: &str, build: &mut Build) {
    let key = if input.config.base_image.is_some() { "/base_image" } else { "/graphs" };
    build.step(key, "the server", Action::From { image: image.to_owned(), stage: None });
    if let Some(lines) = input.config.dockerfile_lines.as_ref().filter(|lines| !lines.is_empty()) {
        build.step("/dockerfile_lines", "the project's own lines", Action::Lines { lines: lines.clone() });
    }
}

/// The context holds the pip configuration, for it is mounted; a stage of its own keeps it out of the copy.
fn source_stage(input: &Input<'_>, image: &str, build: &mut Build) {
    let key = "/pip_config_file";
    let Some(file) = pip_config(input.config, input.variant) else { return };
    let stage = Some(SOURCE_STAGE.to_owned());
    let why = "the source without the pip configuration";
    build.step(key, why, Action::From { image: image.to_owned(), stage });
    let target = "/source/".to_owned();
    build.step(key, why, Action::Copy { from: None, sources: vec![".".to_owned()], target });
    let secret = format!("/source/{}", input.layout.in_context(&file));
    let commands = vec![words(["rm", "-f", secret.as_str()])];
    build.step(key, why, Action::Run { mounts: Vec::new(), commands });
}

/// The source, in one step.
pub(super) fn source(input: &Input<'_>, build: &mut Build) {
    let (from, sources) = match pip_config(input.config, input.variant) {
        Some(_) => (Some(SOURCE_STAGE.to_owned()), vec!["/source/".to_owned()]),
        None => (None, vec![".".to_owned()]),
    };
    build.step("/dependencies", "the source", Action::Copy { from, sources, target: input.layout.target() });
}

fn node(input: &Input<'_>, build: &mut Build) {
    let key = if input.config.ui.is_some() { "/ui" } else { "/node_version" };
    let version = Value::String(image::node(input.config));
    let variables = [(variables::NODE_VERSION.to_owned(), version)].into_iter().collect();
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
    let mut arguments = named_packages(input);
    let mut left_out: Vec<&String> = packages.iter().filter_map(|it| it.name.as_ref()).collect();
    let elsewhere = packages.iter().flat_map(|it| &it.package.sources.elsewhere);
    if tools.reads_sources(packages.iter().map(|it| &it.package)) {
        left_out.extend(elsewhere);
    } else if let Some(name) = elsewhere.into_iter().next() {
        let why = "pip does not read uv's sources, and uv cannot where others of them lead to directories";
        build.note("/dependencies", format!("`{name}` is taken from the package index: {why}"));
    }
    for requirement in packages.iter().flat_map(|it| it.package.requirements.iter().flatten()) {
        let is_left_out = name_of(requirement).is_some_and(|name| left_out.contains(&&name));
        if !is_left_out && !arguments.contains(requirement) {
            arguments.push(requirement.clone());
        }
    }
    for file in files.iter().filter(|file| !file.is_local()) {
        copy_manifests(input, &file.files, build);
        arguments.extend(["-r".to_owned(), input.layout.in_image(&file.path)]);
    }
    if !arguments.is_empty() {
        build.step("/dependencies", "packages from outside", tools.run(vec![tools.install(arguments)]));
    }
}

pub(super) fn named_packages(input: &Input<'_>) -> Vec<String> {
    let entries = input.config.dependencies.iter().flatten();
    entries
        .filter_map(|entry| match dependency::classify(entry, input.files) {
            Dependency::Package(requirement) => Some(requirement),
            Dependency::Local { .. } => None,
        })
        .collect()
}

/// Copies files, given relative to the configuration's directory, to where they lie in the image; one copy for
/// each directory.
pub(super) fn copy_manifests(input: &Input<'_>, manifests: &[String], build: &mut Build) {
    let mut directories: IndexMap<String, Vec<String>> = IndexMap::new();
    for manifest in manifests {
        let file = input.layout.in_context(manifest);
        directories.entry(paths::parent(&file)).or_default().push(file);
    }
    for (directory, sources) in directories {
        let target = format!("{}/", input.layout.image_path(&directory));
        build.step("/dependencies", "manifests", Action::Copy { from: None, sources, target });
    }
}

/// The packages that can be installed before their source is there.
fn skeletons(input: &Input<'_>, tools: &Tools, packages: &[Installed<'_>], build: &mut Build) {
    let (mut directories, mut touched, mut editable) = (Vec::new(), Vec::new(), Vec::new());
    for Installed { local, package, .. } in packages {
        let Install::Skeleton { manifests, placeholders } = &package.install else { continue };
        let manifests: Vec<String> = manifests.iter().map(|file| paths::join(&local.path, file)).collect();
        copy_manifests(input, &manifests, build);
        for file in placeholders {
            let file = input.layout.in_image(&paths::join(&local.path, file));
            directories.push(paths::parent(&file));
            touched.push(file);
        }
        editable.extend(["-e".to_owned(), input.layout.in_image(&local.path)]);
    }
    if editable.is_empty() {
        return;
    }
    directories.sort();
    directories.dedup();
    let mut commands = Vec::new();
    if !touched.is_empty() {
        commands.push(prefixed(&["mkdir", "-p"], directories));
        commands.push(prefixed(&["touch"], touched));
    }
    editable.extend(tools.without_sources(packages.iter().map(|it| &it.package)));
    commands.push(tools.install(editable));
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

/// What has to be installed behind the copy of the source.
struct Late {
    commands: Vec<Command>,
    /// Whether it may install more than the source.
    brings_requirements: bool,
}

impl Late {
    fn new(
        input: &Input<'_>,
        tools: &Tools,
        packages: &[Installed<'_>],
        files: &[RequirementsFile],
        build: &mut Build,
    ) -> Self {
        let (mut bare, mut whole) = (Vec::new(), Vec::new());
        let reads_sources = tools.reads_sources(packages.iter().map(|it| &it.package));
        for Installed { local, package, .. } in packages {
            let why = match &package.install {
                Install::Skeleton { .. } => continue,
                Install::AfterCopy(why) | Install::Plain(why) => why,
            };
            let key = format!("/dependencies/{}", local.index);
            build.note(
                &key,
                format!("`{}` is installed again on every edit of the source: {why}", local.path),
            );
            let is_complete = matches!(package.install, Install::AfterCopy(_))
                && !has_extras_of(package, packages)
                && (package.sources.elsewhere.is_empty() || !reads_sources);
            let list = if is_complete { &mut bare } else { &mut whole };
            list.extend(["-e".to_owned(), input.layout.in_image(&local.path)]);
        }
        // Those whose requirements are there come first: the others may need them.
        let mut commands = Vec::new();
        let mut brings_requirements = !whole.is_empty();
        if !bare.is_empty() {
            bare.insert(0, "--no-deps".to_owned());
            commands.push(tools.install(bare));
        }
        if !whole.is_empty() {
            whole.extend(tools.without_sources(packages.iter().map(|it| &it.package)));
            commands.push(tools.install(whole));
        }
        for file in files.iter().filter(|file| file.is_local()) {
            let why = "it names packages of the source";
            build.note(
                "/dependencies",
                format!("`{}` is installed again on every edit of the source: {why}", file.path),
            );
            commands.push(tools.install(vec!["-r".to_owned(), input.layout.in_image(&file.path)]));
            brings_requirements = true;
        }
        Self { commands, brings_requirements }
    }
}

/// All that runs behind the copy of the source, in one step: each more would cost every edit another container.
fn late_step(input: &Input<'_>, tools: &Tools, late: Late, build: &mut Build) {
    let mut commands = late.commands;
    if late.brings_requirements {
        commands.extend(own_packages(tools));
    }
    commands.extend(removal(&removed_tools(input.config)));
    build.step("/dependencies", "packages that need their source", tools.run(commands));
}

/// The server's own packages, whatever was installed over them.
fn own_packages(tools: &Tools) -> Vec<Command> {
    let mut directories: Vec<String> = server::OWN_PACKAGES.iter().map(|file| paths::parent(file)).collect();
    directories.sort();
    let files = server::OWN_PACKAGES.iter().map(|&file| file.to_owned()).collect();
    let own = ["--no-deps", "-e", server::OWN_PROJECT].map(str::to_owned);
    vec![
        prefixed(&["mkdir", "-p"], directories),
        prefixed(&["touch"], files),
        tools.unconstrained(own.to_vec()),
    ]
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
