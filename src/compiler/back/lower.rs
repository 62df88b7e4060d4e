//! Config → [`Plan`]: the only place where a default is chosen.

mod builder;
mod common;
mod contract;
mod groups;
mod image;
mod installed;
mod javascript;
mod late;
mod layout;
mod local;
mod python;
pub mod setup;
mod tools;

use sha2::{Digest, Sha256};

use crate::compiler::back::plan::{Action, ConfigFile, Env, Note, Plan, Server, Step, Variant};
use crate::compiler::files::Files;
use crate::compiler::front::config::{Config, EnvConfig};
use crate::compiler::{paths, server};
use layout::Layout;

/// What the command line adds to the configuration.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Installs the packages of a JavaScript project, instead of its package manager's usual command.
    pub install_command: Option<String>,
    /// Builds a JavaScript project.
    pub build_command: Option<String>,
    /// The directory that `install_command` runs in, relative to the configuration's.
    pub called_from: String,
}

/// What everything below works on.
struct Input<'a> {
    config: &'a Config,
    files: &'a dyn Files,
    options: &'a Options,
    variant: Variant,
    layout: &'a Layout,
}

/// The steps and notes of one plan in the making.
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

/// Plans a configuration without errors; `name` is its file's.
pub fn lower(config: &Config, files: &dyn Files, name: &str, options: &Options) -> Plan {
    let variant = config.variant();
    let layout = Layout::new(config, files, variant, options);
    let input = Input { config, files, options, variant, layout: &layout };
    let contract = contract::contract(&input, |path| layout.in_image(&path));
    let mut build = Build::default();
    let is_javascript = variant == Variant::Javascript;
    let packages = if is_javascript { Vec::new() } else { python::packages(&input) };
    match variant {
        Variant::Javascript => javascript::steps(&input, &contract, &mut build),
        Variant::Python | Variant::Mixed => python::steps(&input, &packages, &contract, &mut build),
    }
    let context = layout.context(config, files, variant, javascript::installs(files, variant, options));
    Plan {
        version: 1,
        config: ConfigFile { name: name.to_owned(), sha256: digest(config) },
        server: planned_server(&input),
        local: local::local(&input, &packages, name, &context),
        context,
        contract,
        env: env(config),
        steps: build.steps,
        notes: build.notes,
    }
}

fn planned_server(input: &Input<'_>) -> Server {
    Server {
        variant: input.variant,
        image: image::reference(input.config, input.variant),
        python: (input.variant != Variant::Javascript).then(|| image::python(input.config)),
        node: (input.variant != Variant::Python).then(|| image::node(input.config)),
        port: server::PORT,
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

fn digest(config: &Config) -> String {
    Sha256::digest(config.value.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}
