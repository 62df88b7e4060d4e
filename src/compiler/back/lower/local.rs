//! The server on the user's own machine: the same contract as in an image, and what has to be installed for it.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::back::lower::installed::Installed;
use crate::compiler::back::lower::layout::{self, DEFAULT_IGNORE};
use crate::compiler::back::lower::tools::{Tools, pip_config};
use crate::compiler::back::lower::{Input, contract, javascript, python};
use crate::compiler::back::plan::{Context, JavascriptPackages, Local, PythonPackages, Variant, Watch};
use crate::compiler::front::config::EnvConfig;
use crate::compiler::manifests::dependency::{self, Local as Dependency, LocalKind};
use crate::compiler::{paths, server};

pub(super) fn local(input: &Input<'_>, packages: &[Installed<'_>], name: &str, context: &Context) -> Local {
    let javascript = (input.variant != Variant::Python).then(|| javascript_packages(input));
    let has_bridge = javascript.as_ref().is_some_and(|packages| packages.bridge.is_some());
    let python = (input.variant != Variant::Javascript).then(|| python_packages(input, packages, has_bridge));
    let contract = contract::contract(input, |path| here(&path));
    let settings = settings(input.variant, &contract);
    let is_known =
        |variable: &str| input.variant != Variant::Javascript || settings.values().any(|it| it == variable);
    let unknown = contract::keys(&contract).filter(|(_, variable)| !is_known(variable));
    Local {
        unset: contract::names().filter(|name| !contract.contains_key(*name)).map(str::to_owned).collect(),
        unknown: unknown.map(|(key, _)| key.to_owned()).collect(),
        variables: variables(input.variant, has_bridge),
        state: server::local::STATE.to_owned(),
        watch: watch(input, name, context, python.as_ref(), javascript.as_ref()),
        contract,
        settings,
        python,
        javascript,
    }
}

fn variables(variant: Variant, has_bridge: bool) -> IndexMap<String, String> {
    let javascript = if variant == Variant::Javascript { server::local::JAVASCRIPT_VARIABLES } else { &[] };
    let bridge = if has_bridge { server::local::BRIDGE_VARIABLES } else { &[] };
    let all = server::local::VARIABLES.iter().chain(javascript).chain(bridge);
    all.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What the JavaScript server takes as an argument, and not from its environment.
fn settings(variant: Variant, contract: &IndexMap<String, Value>) -> IndexMap<String, String> {
    let all = if variant == Variant::Javascript { server::local::JAVASCRIPT_SETTINGS } else { &[] };
    let set = contract::keys(contract).filter(|(key, _)| all.contains(key));
    set.map(|(key, variable)| (key.to_owned(), variable.to_owned())).collect()
}

/// A path as the server finds it: one that starts with a dot is a file's, any other may be a module's.
fn here(path: &str) -> String {
    if path.starts_with(['.', '/']) { path.to_owned() } else { format!("./{path}") }
}

fn python_packages(input: &Input<'_>, packages: &[Installed<'_>], own: bool) -> PythonPackages {
    let locals = &input.layout.locals;
    let of_kind =
        |kind| locals.iter().filter(move |local| local.kind == kind).map(|local| local.path.clone());
    let flat = locals.iter().filter(|local| local.kind == LocalKind::Flat);
    let mut path: Vec<String> =
        of_kind(LocalKind::Plain).chain(flat.map(|it| paths::join(&it.path, ".."))).collect();
    path.dedup();
    let files: Vec<_> = locals.iter().filter_map(|local| layout::requirements(local, input.files)).collect();
    let included = files.iter().flat_map(|file| file.files.iter().cloned());
    let manifests = locals.iter().flat_map(|local| manifests(input, local)).chain(included).collect();
    PythonPackages {
        version: input.config.python().map(str::to_owned),
        server: server_packages(input.config.api_version.as_deref()),
        requirements: python::named_packages(input),
        files: files.iter().map(|file| file.path.clone()).collect(),
        editable: of_kind(LocalKind::Package).collect(),
        own,
        path,
        manifests,
        without_sources: Tools::new(input).without_sources(packages.iter().map(|it| &it.package)).is_some(),
        uses_pip: input.config.uses_pip(),
        pip_config: pip_config(input.config, input.variant),
    }
}

fn javascript_packages(input: &Input<'_>) -> JavascriptPackages {
    let has_graphs = input.config.graphs.values().any(|graph| paths::is_javascript(graph));
    let (server, bridge) = match input.variant {
        Variant::Javascript => (server::local::JAVASCRIPT_SERVER, None),
        Variant::Mixed if has_graphs => (&[server::local::TSX][..], Some(server::local::BRIDGE.to_owned())),
        Variant::Mixed | Variant::Python => (&[][..], None),
    };
    JavascriptPackages {
        version: input.config.node_version.clone(),
        server: server.iter().map(|&(name, version)| (name.to_owned(), version.to_owned())).collect(),
        bridge,
        project: javascript::project(input.files),
    }
}

/// Files that say what a package needs.
fn manifests(input: &Input<'_>, local: &Dependency) -> Vec<String> {
    if local.kind != LocalKind::Package {
        return Vec::new();
    }
    let names =
        dependency::MANIFESTS.iter().filter(|name| **name != "package.json" && **name != "requirements.txt");
    names.map(|name| paths::join(&local.path, name)).filter(|path| input.files.is_file(path)).collect()
}

/// The release that is asked for; else the newest up to the one that this program is tested with, so that a project
/// that needs older packages gets the server that goes with them.
fn server_packages(api_version: Option<&str>) -> Vec<String> {
    let tested = server::local::SERVER.iter();
    let Some(version) = api_version else {
        return tested.map(|(name, version)| format!("{name}<={version}")).collect();
    };
    let is_series = version.split('.').count() < 3 && version.chars().all(|c| c.is_ascii_digit() || c == '.');
    let pinned = if is_series { format!("=={version}.*") } else { format!("=={version}") };
    let mut names = tested.map(|(name, _)| (*name).to_owned());
    let first = names.next().map(|name| name + &pinned);
    first.into_iter().chain(names).collect()
}

/// What an image would hold, but for what never counts; and the files that decide how the server starts.
fn watch(
    input: &Input<'_>,
    name: &str,
    context: &Context,
    python: Option<&PythonPackages>,
    javascript: Option<&JavascriptPackages>,
) -> Watch {
    let never = DEFAULT_IGNORE.iter().map(|&line| line.to_owned());
    let never = never.filter(|line| !context.ignore.contains(line));
    let env = match &input.config.env {
        Some(EnvConfig::File(path)) => Some(paths::normalize(path)),
        Some(EnvConfig::Map(_)) | None => None,
    };
    let manifests = python.into_iter().flat_map(|it| it.manifests.iter().chain(&it.pip_config).cloned());
    let project = javascript.and_then(|it| it.project.as_ref());
    let manifests = manifests.chain(project.into_iter().flat_map(|it| it.manifests.iter().cloned()));
    Watch {
        root: context.root.clone(),
        ignore: context.ignore.iter().cloned().chain(never).collect(),
        files: [name.to_owned()].into_iter().chain(env).chain(manifests).collect(),
    }
}
