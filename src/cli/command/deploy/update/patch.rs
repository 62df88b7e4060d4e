//! Patches from options and files.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::file::{self, Nulls};
use crate::api::Vocabulary;
use crate::api::wire::{DeploymentPatch, Redacted, Source, SourceConfig, SourceRevisionConfig};
use crate::cli::command::deploy::given::{STDIN, SecretsFrom};
use crate::cli::env::Env;
use crate::cli::resources::{reference, resources};
use crate::cli::setup::redacted;
use crate::cli::variables::Reserved;
use crate::error::Error;

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

    #[command(flatten)]
    secrets_from: SecretsFrom,

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
    pub(super) fn patch(&self, env: &mut Env, reserved: Reserved) -> Result<(DeploymentPatch, Nulls), Error> {
        if self.secrets_from.reads_stdin() && self.file.as_deref() == Some(Path::new(STDIN)) {
            return Err(Error::misused("--file and --secrets-from cannot both read stdin"));
        }
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
        let secrets = self.secrets_from.with(env, reserved, &self.secret)?;
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
}

fn set<T: Clone>(field: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        field.clone_from(given);
    }
}
