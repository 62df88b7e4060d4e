//! Patches from options and files.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::json;

use super::file::{self, Nulls};
use crate::api::Vocabulary;
use crate::api::wire::{
    DeploymentPatch, Object, Redacted, Secret, Source, SourceConfig, SourceRevisionConfig,
};
use crate::cli::env::Env;
use crate::cli::resources::{reference, resources};
use crate::cli::setup::redacted;
use crate::cli::variables;
use crate::compiler::manifests::dotenv;
use crate::error::Error;
use crate::project;

/// The changes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Changes")]
pub(super) struct PatchOptions {
    /// JSON file with the changes, in the form of the API's PATCH request; - reads stdin; options override it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Set a secret; without a value, take it from the environment (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = redacted)]
    secret: Vec<Redacted>,

    /// Set secrets from a file in .env format, except empty ones and those that the service sets itself
    #[arg(long, value_name = "FILE")]
    secrets_from: Option<PathBuf>,

    /// Set a reference to a cluster secret; for source external_container only (repeatable)
    #[arg(long, value_name = "NAME=SECRET/KEY")]
    secret_reference: Vec<String>,

    /// Set a resource field, such as cpu=2, memory_mb=4096 or labels='{"a": "b"}' (repeatable)
    #[arg(long, value_name = "FIELD=VALUE")]
    resource: Vec<String>,

    /// Source of the new revision: codehost, internal_container or internal_source
    #[arg(long, value_name = "SOURCE")]
    revision_source: Option<String>,

    /// Git branch, or tag as refs/tags/NAME
    #[arg(long, value_name = "REF")]
    repo_ref: Option<String>,

    /// Path of the configuration file in the source
    #[arg(long, value_name = "PATH")]
    graph_config_path: Option<String>,

    /// Image reference with a digest
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Create a revision when the branch is pushed to
    #[arg(long, value_name = "BOOL")]
    build_on_push: Option<bool>,

    /// URL of the deployment
    #[arg(long, value_name = "URL")]
    custom_url: Option<String>,

    /// Command that installs the dependencies of a JavaScript project
    #[arg(long, value_name = "COMMAND")]
    install_command: Option<String>,

    /// Command that builds a JavaScript project
    #[arg(long, value_name = "COMMAND")]
    build_command: Option<String>,
}

impl PatchOptions {
    /// The patch, and the nulls of the file; an error if there are no changes.
    pub(super) fn patch(&self, env: &mut Env) -> Result<(DeploymentPatch, Nulls), Error> {
        let (mut patch, nulls) = match &self.file {
            Some(path) => file::read(env, path)?,
            None => Default::default(),
        };
        if let Some(source) = &self.revision_source {
            let mut words = json!({ "revision_source": source });
            Vocabulary::specified(&mut words);
            patch.revision_source = words["revision_source"].as_str().map(Source::from);
        }
        patch.source_config = self.source_config(patch.source_config)?;
        patch.source_revision_config = self.source_revision_config(patch.source_revision_config);
        let secrets = self.secrets(env)?;
        if !secrets.is_empty() {
            let mut all = patch.secrets.unwrap_or_default();
            all.retain(|old| secrets.iter().all(|new| new.name != old.name));
            all.extend(secrets);
            patch.secrets = Some(all);
        }
        if !self.secret_reference.is_empty() {
            let references = self.secret_reference.iter().map(|text| reference(text));
            patch.secret_references = Some(references.collect::<Result<_, _>>()?);
        }
        if patch != DeploymentPatch::default() {
            Ok((patch, nulls))
        } else {
            Err(Error::usage(
                "no changes given",
                "pass --file, --resource, --secret or another option listed under Changes in --help",
            ))
        }
    }

    fn source_config(&self, of_file: Option<SourceConfig>) -> Result<Option<SourceConfig>, Error> {
        let was_given = of_file.is_some();
        let mut config = of_file.unwrap_or_default();
        set(&mut config.build_on_push, &self.build_on_push);
        set(&mut config.custom_url, &self.custom_url);
        set(&mut config.install_command, &self.install_command);
        set(&mut config.build_command, &self.build_command);
        if !self.resource.is_empty() {
            config.resource_spec = Some(resources(config.resource_spec.unwrap_or_default(), &self.resource)?);
        }
        Ok((was_given || config != SourceConfig::default()).then_some(config))
    }

    fn source_revision_config(&self, of_file: Option<SourceRevisionConfig>) -> Option<SourceRevisionConfig> {
        let was_given = of_file.is_some();
        let mut config = of_file.unwrap_or_default();
        set(&mut config.repo_ref, &self.repo_ref);
        set(&mut config.graph_config_path, &self.graph_config_path);
        set(&mut config.image_uri, &self.image);
        (was_given || config != SourceRevisionConfig::default()).then_some(config)
    }

    /// The secrets of the file, then those of the options; a later one replaces an earlier one of the same name.
    fn secrets(&self, env: &mut Env) -> Result<Vec<Secret>, Error> {
        let mut secrets: IndexMap<String, String> = IndexMap::new();
        if let Some(path) = &self.secrets_from {
            let text = project::text(&env.directory.join(path))
                .ok_or_else(|| Error::misused(format!("cannot read `{}` as text", path.display())))?;
            let found = dotenv::parse(&text, |name| env.named(name));
            if let Some(mistake) = found.mistakes.first() {
                let place = format!("{}:{}", path.display(), mistake.line);
                return Err(Error::misused(format!("{place}: {}", mistake.why)));
            }
            secrets.extend(variables::deployable(env, found.variables));
        }
        for secret in &self.secret {
            let (name, value) = match secret.expose().split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (secret.expose(), environment_value(env, secret.expose())?),
            };
            if name.is_empty() {
                return Err(Error::usage("a secret without a name", "pass --secret NAME=VALUE"));
            }
            secrets.insert(name.to_owned(), value);
        }
        let secret = |(name, value)| Secret { name, value: Some(Redacted::new(value)), other: Object::new() };
        Ok(secrets.into_iter().map(secret).collect())
    }
}

/// The value of an environment variable. An invalid name is not shown: it may be a value.
fn environment_value(env: &Env, name: &str) -> Result<String, Error> {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let shown = if is_name { format!("the secret `{name}`") } else { "a secret".to_owned() };
    let hint = "pass --secret NAME=VALUE, or set the environment variable NAME and pass --secret NAME";
    let value = env.named(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| Error::usage(format!("{shown} has no value"), hint))
}

fn set<T: Clone>(field: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        field.clone_from(given);
    }
}
