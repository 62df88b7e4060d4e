//! Config → [`Plan`]: every decision that [`Resolved`] leaves open, such as where files go.

mod contract;
mod ignored;
mod image_server;
mod javascript;
mod layout;
mod local;
mod locked;
mod own_server;
mod python;
pub mod setup;
mod withheld;

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::agent_lock::AgentLock;
use crate::back::plan::{ConfigFile, Context, Env, Image, Note, Plan, Server, Variant};
use crate::back::resolve::Resolved;
use crate::files::Files;
use crate::front::config::{Config, EnvConfig};
use crate::manifests::dockerignore::Ignore;
use crate::options::Options;
use crate::tree::Tree;
use crate::words::variables_in;
use crate::{paths, server};
use ignored::Ignored;
use layout::Layout;

/// The input of lowering.
struct Input<'a> {
    config: &'a Config,
    files: &'a Tree,
    options: &'a Options,
    resolved: &'a Resolved,
    layout: &'a Layout,
    /// Excludes files from the build context.
    ignore: &'a Ignore,
}

/// The notes of a plan in the making.
#[derive(Default)]
struct Build {
    notes: Vec<Note>,
}

impl Build {
    fn note(&mut self, key: &str, message: impl Into<String>) {
        self.notes.push(Note { key: key.to_owned(), message: message.into() });
    }
}

/// Plans a configuration that has no errors. `name` is the name of its file.
pub fn lower(config: &Config, files: &Tree, name: &str, options: &Options) -> Plan {
    let resolved = &Resolved::new(config, files, options);
    let layout = &Layout::new(resolved, files, options);
    let ignored = Ignored::new(config, files, options, resolved, layout);
    let input = Input { config, files, options, resolved, layout, ignore: &ignored.rules };
    let mut build = Build::default();
    let context = Context {
        root: layout.root.clone(),
        project: layout.directory.clone(),
        include: layout.include.clone(),
        withheld: withheld::find(&input, &ignored.own, name, &mut build),
        ignore: ignored.lines,
        ignore_from: ignored.from,
    };
    locked::notes(resolved, &mut build);
    let contract = contract::in_image(&input);
    let image = image(&input, &mut build);
    Plan {
        version: 2,
        config: ConfigFile { name: name.to_owned(), sha256: digest(config) },
        server: planned_server(&input),
        local: local::local(&input, name, &context),
        context,
        contract,
        images: options.agent_lock.as_ref().map(AgentLock::pins).unwrap_or_default(),
        env: env(config),
        image,
        notes: build.notes,
    }
}

fn image(input: &Input<'_>, build: &mut Build) -> Image {
    let variant = input.resolved.variant;
    let secret_files = input.resolved.pip_config.iter().chain(javascript::secret_files(input));
    Image {
        root: input.layout.image_path("."),
        server: image_server::install(input),
        lines: input.config.dockerfile_lines.clone().unwrap_or_default(),
        python: (variant != Variant::Javascript).then(|| python::python(input, build)),
        node: (variant != Variant::Python).then(|| javascript::node(input, build)),
        is_reproducible: input.options.is_reproducible,
        secret_files: secret_files.map(|file| input.layout.in_context(file)).collect(),
    }
}

fn planned_server(input: &Input<'_>) -> Server {
    let Resolved { variant, base_image, node, .. } = input.resolved;
    let (python, node) = match variant {
        Variant::Javascript => (None, base_image.version.clone()),
        Variant::Python | Variant::Mixed => (base_image.version.clone(), node.clone()),
    };
    Server {
        product: input.config.server,
        variant: *variant,
        image: base_image.reference.clone(),
        python,
        node,
        port: server::PORT,
        release: image_server::installs_javascript(input)
            .then(|| server::local::javascript_server_in_image(local::library_version(input))),
        files: image_server::files(input),
        healthcheck: image_server::healthcheck(input).iter().map(|&word| word.to_owned()).collect(),
        directory: input.layout.project.clone(),
    }
}

fn env(config: &Config) -> Env {
    match &config.env {
        None => Env { file: None, names: Vec::new() },
        Some(EnvConfig::File(path)) => Env { file: Some(paths::normalize(path)), names: Vec::new() },
        Some(EnvConfig::Map(values)) => Env { file: None, names: values.keys().cloned().collect() },
    }
}

/// The variables that these files name.
fn variables<'f>(input: &Input<'_>, files: impl Iterator<Item = &'f String>) -> Vec<String> {
    let texts = files.filter_map(|file| input.files.text(file));
    let names: BTreeSet<String> = texts.flat_map(|text| variables_in(&text)).collect();
    names.into_iter().collect()
}

/// The digest of a configuration without the values of `env`: they are secret, and change nothing in the plan.
fn digest(config: &Config) -> String {
    let mut value = config.value.clone();
    if let Some(Value::Object(variables)) = value.get_mut("env") {
        variables.values_mut().for_each(|value| *value = Value::Null);
    }
    hex::encode(Sha256::digest(value.to_string()))
}
