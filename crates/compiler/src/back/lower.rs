//! Config → [`Plan`]: every decision that [`Resolved`] leaves open, such as where files go. The order of an image's steps is
//! that of `steps` in python.rs and javascript.rs.

mod bytecode;
mod common;
mod contract;
mod groups;
mod ignored;
mod image_server;
mod javascript;
mod late;
mod layout;
mod local;
mod locked;
mod npm_secrets;
mod own_server;
mod packages;
mod python;
pub mod setup;
mod tools;
mod withheld;

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::agent_lock::AgentLock;
use crate::back::plan::{Action, ConfigFile, Context, Env, Note, Plan, Server, Step, Variant};
use crate::back::resolve::Resolved;
use crate::front::config::{Config, EnvConfig};
use crate::manifests::dockerignore::Ignore;
use crate::options::Options;
use crate::tree::Tree;
use crate::{paths, server};
pub use bytecode::PROGRAM as BYTECODE;
use ignored::Ignored;
use layout::Layout;
pub use locked::DIRECTORY as LOCKED_REQUIREMENTS;

/// The input of lowering.
struct Input<'a> {
    config: &'a Config,
    /// The packages of others that the project imports, if they are known.
    packages: Option<&'a BTreeSet<String>>,
    files: &'a Tree,
    options: &'a Options,
    resolved: &'a Resolved,
    layout: &'a Layout,
    /// Excludes files from the build context.
    ignore: &'a Ignore,
}

/// The steps and notes of a plan in the making.
#[derive(Default)]
struct Build {
    steps: Vec<Step>,
    notes: Vec<Note>,
}

impl Build {
    fn step(&mut self, key: &str, why: &str, action: Action) {
        self.steps.push(Step { why: why.to_owned(), key: key.to_owned(), action });
    }

    fn note(&mut self, key: &str, message: impl Into<String>) {
        self.notes.push(Note { key: key.to_owned(), message: message.into() });
    }
}

/// Plans a configuration that has no errors, of a project that imports `packages` of others. `name` is the name of its file.
pub fn lower(
    config: &Config,
    packages: Option<&BTreeSet<String>>,
    files: &Tree,
    name: &str,
    options: &Options,
) -> Plan {
    let resolved = &Resolved::new(config, files, options);
    let layout = &Layout::new(resolved, files, options);
    let ignored = Ignored::new(config, files, options, resolved, layout);
    let input = Input { config, packages, files, options, resolved, layout, ignore: &ignored.rules };
    let context = Context {
        root: layout.root.clone(),
        project: layout.directory.clone(),
        include: layout.include.clone(),
        withheld: withheld::find(&input, name),
        ignore: ignored.lines,
        ignore_from: ignored.from,
    };
    let mut build = Build::default();
    locked::notes(resolved, &mut build);
    let contract = contract::in_image(&input);
    match resolved.variant {
        Variant::Javascript => javascript::steps(&input, &contract, &mut build),
        Variant::Python | Variant::Mixed => python::steps(&input, &contract, &mut build),
    }
    Plan {
        version: 1,
        config: ConfigFile { name: name.to_owned(), sha256: digest(config) },
        server: planned_server(&input),
        local: local::local(&input, name, &context),
        context,
        contract,
        images: options.agent_lock.as_ref().map(AgentLock::pins).unwrap_or_default(),
        env: env(config),
        steps: build.steps,
        notes: build.notes,
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
        files: image_server::files(input),
        healthcheck: server::HEALTHCHECK.iter().map(|&word| word.to_owned()).collect(),
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

/// The digest of a configuration without the values of `env`: they are secret, and change nothing in the plan.
fn digest(config: &Config) -> String {
    let mut value = config.value.clone();
    if let Some(Value::Object(variables)) = value.get_mut("env") {
        variables.values_mut().for_each(|value| *value = Value::Null);
    }
    hex::encode(Sha256::digest(value.to_string()))
}
