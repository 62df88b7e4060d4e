//! The part of the plan for `dev`: the server on this machine, with the same settings as in an image.

use indexmap::IndexMap;
use serde_json::Value;

use crate::back::lower::{Input, contract, javascript, locked};
use crate::back::plan::{
    AboveProject, Context, Installer, JavascriptPackages, Local, PythonPackages, ServerPackage, Variant,
    Watch,
};
use crate::back::resolve::Resolved;
use crate::files::Files;
use crate::front::config::{Config, EnvConfig};
use crate::front::workspace::Locked;
use crate::manifests::above::Above;
use crate::manifests::dependency::{self, Local as Dependency};
use crate::manifests::package_version;
use crate::server::local::JavascriptServer;
use crate::tree::Tree;
use crate::{paths, server};

pub(super) fn local(input: &Input<'_>, name: &str, context: &Context) -> Local {
    let variant = input.resolved.variant;
    let javascript = (variant != Variant::Python).then(|| javascript_packages(input));
    let has_bridge = javascript.as_ref().is_some_and(|packages| packages.bridge.is_some());
    let python = (variant != Variant::Javascript).then(|| python_packages(input, has_bridge));
    let contract = contract::on_machine(input);
    let settings = settings(variant, &contract);
    let is_known =
        |variable: &str| variant != Variant::Javascript || settings.values().any(|it| it == variable);
    let unknown = contract::keys(&contract).filter(|(_, variable)| !is_known(variable));
    Local {
        unknown: unknown.map(|(key, _)| key.to_owned()).collect(),
        variables: variables(input, has_bridge),
        state: server::local::STATE.to_owned(),
        watch: watch(input, name, context, python.as_ref(), javascript.as_ref()),
        contract,
        settings,
        python,
        javascript,
    }
}

fn variables(input: &Input<'_>, has_bridge: bool) -> IndexMap<String, String> {
    let is_javascript = input.resolved.variant == Variant::Javascript;
    let javascript = if is_javascript { server::local::JAVASCRIPT_VARIABLES } else { &[] };
    let bridge = if has_bridge { server::local::BRIDGE_VARIABLES } else { &[] };
    let all = server::local::VARIABLES.iter().chain(javascript).chain(bridge);
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let mut all: IndexMap<_, _> = all.map(own).collect();
    if let Some(installation) = input.config.server.with_databases() {
        // Their addresses are the user's.
        all.retain(|name, _| !server::local::DATABASES.contains(&name.as_str()));
        all.extend(installation.variables.iter().map(own));
    }
    all
}

/// Sections that the JavaScript server takes as arguments instead of from its environment.
fn settings(variant: Variant, contract: &IndexMap<String, Value>) -> IndexMap<String, String> {
    let all = if variant == Variant::Javascript { server::local::JAVASCRIPT_SETTINGS } else { &[] };
    let set = contract::keys(contract).filter(|(key, _)| all.contains(key));
    set.map(|(key, variable)| (key.to_owned(), variable.to_owned())).collect()
}

fn python_packages(input: &Input<'_>, own: bool) -> PythonPackages {
    let resolved = input.resolved;
    let files = resolved.files.iter().filter(|it| it.others.is_none());
    let included = resolved.files.iter().flat_map(|file| file.files.iter().cloned());
    let locked = resolved.locks().flat_map(|locked| locked.manifests(input.files));
    let manifests = resolved.locals.iter().flat_map(|local| manifests(input, local));
    let manifests = manifests.chain(included).chain(locked).collect();
    let databases = input.config.server.with_databases();
    let overrides = databases.iter().flat_map(|server| server.own).map(|&own| own.to_owned()).collect();
    PythonPackages {
        overrides,
        version: resolved.pinned_python.clone(),
        requires_python: resolved.requires_python.clone(),
        server: server_packages(input.config),
        requirements: requirements(resolved),
        files: files.clone().map(|it| it.path.clone()).collect(),
        hashed: files.filter(|it| it.has_hashes).map(|it| it.path.clone()).collect(),
        indexes: resolved.locked.as_ref().map(Locked::indexes).unwrap_or_default(),
        other_indexes: resolved.other_indexes.clone(),
        locks: resolved.pins.iter().map(|pins| pins.locked.file.clone()).collect(),
        constraints: locked::constraints(resolved),
        editable: resolved.packages.iter().map(|package| package.path.clone()).collect(),
        own,
        path: resolved.import_path.clone(),
        manifests,
        without_sources: resolved.is_without_sources(),
        without_requirements: resolved.installs_alone(),
        uses_pip: resolved.installer == Installer::Pip && databases.is_none(),
        pip_config: resolved.pip_config.clone(),
        above: above(resolved, input.files),
    }
}

fn above(resolved: &Resolved, files: &Tree) -> Option<AboveProject> {
    let own = resolved.locals.iter().find(|local| local.path == ".")?;
    let found = Above::find(own, resolved.locals.iter(), files)?;
    Some(AboveProject {
        help: found.help(),
        directories: found.roots().into(),
        manifest: found.manifest,
        requirements: found.requirements.into_iter().collect(),
    })
}

/// The requirements that the installer does not find in the manifests of editable packages itself.
fn requirements(resolved: &Resolved) -> Vec<String> {
    let mut found = resolved.requirements.clone();
    if resolved.locked.is_some() {
        return found;
    }
    found.extend(resolved.archives.iter().map(|archive| archive.requirement(&archive.path)));
    found.extend(resolved.files.iter().flat_map(|file| file.others.iter().flatten().cloned()));
    let packages = resolved.packages.iter().filter(|_| resolved.lists_requirements());
    for requirement in packages.chain(&resolved.virtuals).flat_map(|it| it.requirements.iter().flatten()) {
        if !found.contains(requirement) {
            found.push(requirement.clone());
        }
    }
    found
}

fn javascript_packages(input: &Input<'_>) -> JavascriptPackages {
    let has_graphs = input.config.graphs.values().any(|graph| paths::is_javascript(graph));
    let (server, bridge) = match input.resolved.variant {
        Variant::Javascript => (javascript_server(input).packages, None),
        Variant::Mixed if has_graphs => (&[server::local::TSX][..], Some(server::local::BRIDGE.to_owned())),
        Variant::Mixed | Variant::Python => (&[][..], None),
    };
    JavascriptPackages {
        version: input.config.node_version.clone(),
        server: server.iter().map(|&(name, version)| (name.to_owned(), version.to_owned())).collect(),
        bridge,
        project: javascript::project(input),
    }
}

/// The server that works with the project's graph library.
fn javascript_server(input: &Input<'_>) -> &'static JavascriptServer {
    server::local::javascript_server(library_version(input))
}

/// The version of the project's graph library for JavaScript, if it is known.
pub(super) fn library_version(input: &Input<'_>) -> Option<(u64, u64, u64)> {
    let installation = input.resolved.installation.as_ref()?;
    let newest = package_version::newest(server::local::LIBRARY, installation, input.files)?;
    Some(newest.version)
}

/// Files that decide what a package requires.
fn manifests(input: &Input<'_>, local: &Dependency) -> Vec<String> {
    if !local.is_project() {
        return Vec::new();
    }
    let names =
        dependency::MANIFESTS.iter().filter(|name| **name != "package.json" && **name != "requirements.txt");
    names.map(|name| paths::join(&local.path, name)).filter(|path| input.files.is_file(path)).collect()
}

/// `api_version` selects the first package, which requires fitting versions of the others. A server with databases has exact
/// versions.
fn server_packages(config: &Config) -> Vec<ServerPackage> {
    if let Some(installation) = config.server.with_databases() {
        let exact = installation.own.iter().filter_map(|own| own.split_once("=="));
        return exact.map(|(name, version)| ServerPackage::exactly(name, version)).collect();
    }
    let api_version = config.api_version.as_deref();
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let selected = api_version.map_or_else(String::new, |version| {
        let is_series = version.split('.').count() < 3 && version.chars().all(is_digit);
        if is_series { format!("=={version}.*") } else { format!("=={version}") }
    });
    let selected = [selected].into_iter().chain(std::iter::repeat(String::new()));
    let package = |(&(name, tested), selected): (&(&str, &str), String)| ServerPackage {
        name: name.to_owned(),
        selected,
        newest: api_version.is_none().then(|| tested.to_owned()),
        oldest: (api_version.is_none() && name == server::local::SERVER[0].0)
            .then(|| server::local::OLDEST_SERVER.to_owned()),
    };
    server::local::SERVER.iter().zip(selected).map(package).collect()
}

/// The files of the build context, and those that decide how the server starts.
fn watch(
    input: &Input<'_>,
    name: &str,
    context: &Context,
    python: Option<&PythonPackages>,
    javascript: Option<&JavascriptPackages>,
) -> Watch {
    let env = match &input.config.env {
        Some(EnvConfig::File(path)) => Some(paths::normalize(path)),
        Some(EnvConfig::Map(_)) | None => None,
    };
    let manifests = python.into_iter().flat_map(|it| it.manifests.iter().chain(&it.pip_config).cloned());
    let project = javascript.and_then(|it| it.project.as_ref());
    let manifests = manifests.chain(project.into_iter().flat_map(|it| it.manifests.iter().cloned()));
    Watch {
        root: context.root.clone(),
        ignore: context.ignore.clone(),
        files: [name.to_owned()].into_iter().chain(env).chain(manifests).collect(),
    }
}
