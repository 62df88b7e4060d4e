//! `agentcli deploy secrets`

use serde_json::json;

use super::cluster::ClusterOptions;
use super::given::SecretsFrom;
use super::shown::{print_json, title};
use super::update::{apply, keep_secrets};
use super::which::Which;
use crate::api::wire::{Deployment, DeploymentPatch, Redacted, Secret};
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::cli::setup::redacted;
use crate::cli::variables::Reserved;
use crate::error::Error;

/// Manage the secrets of a deployment
///
/// A change of a deployment that has a revision creates another one, which runs with the new secrets.
#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum Secrets {
    #[allow(missing_docs, reason = "documented in its struct")]
    List(List),
    Set(Set),
    Unset(Unset),
}

/// List the names of the secrets of a deployment
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
pub(super) struct List {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    options: CallOptions,
}

/// Set secrets of a deployment, and keep the others
///
/// Values are never shown. Other users can see arguments: read secrets from the environment, a file or stdin instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy secrets set my-agent API_KEY           from the environment
  agentcli deploy secrets set --secrets-from .env        of the deployment of this directory
  pass show api-key | agentcli deploy secrets set --secrets-from - --yes")]
pub(super) struct Set {
    #[command(flatten)]
    which: Which,

    /// Secret to set; without a value, take it from the environment
    #[arg(value_name = "NAME[=VALUE]", value_parser = redacted)]
    secrets: Vec<Redacted>,

    #[command(flatten)]
    from: SecretsFrom,

    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    options: CallOptions,
}

/// Remove secrets of a deployment
///
/// A single argument is the name of a secret, of the deployment of this directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy secrets unset API_KEY             of the deployment of this directory
  agentcli deploy secrets unset my-agent API_KEY")]
pub(super) struct Unset {
    #[command(flatten)]
    which: Which,

    /// Name of a secret to remove
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    options: CallOptions,
}

impl Secrets {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run(env, cluster),
            Self::Set(set) => set.run(env, cluster),
            Self::Unset(unset) => unset.run(env, cluster),
        }
    }
}

impl List {
    fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut target, found) = self.which.find(env, cluster, &self.options.account)?;
        let env = target.env();
        let names: Vec<&str> = found.secrets.iter().map(|secret| secret.name.as_str()).collect();
        if self.options.json {
            return print_json(env, &json!({ "secrets": names }));
        }
        names.iter().try_for_each(|name| Ok(env.out.line(&visible_line(name))?))
    }
}

impl Set {
    /// The given secrets.
    fn given(&mut self, env: &mut Env, reserved: Reserved) -> Result<Vec<Secret>, Error> {
        let first = self.which.take_if(|text| text.contains('=')).map(Redacted::new);
        let secrets = self.from.with(env, reserved, first.iter().chain(&self.secrets))?;
        if secrets.is_empty() {
            let hint = "pass NAME=VALUE after the name of the deployment, or a file with --secrets-from";
            return Err(Error::usage("no secrets given", hint));
        }
        Ok(secrets)
    }

    fn run(mut self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let mut patch = of(self.given(env, cluster.reserved())?);
        let (mut target, before) = self.which.find(env, cluster, &self.options.account)?;
        keep_secrets(&before, &mut patch)?;
        apply(&mut target, &before, &patch, self.yes, self.options.json)
    }
}

impl Unset {
    fn run(mut self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        self.take_names()?;
        let (mut target, before) = self.which.find(env, cluster, &self.options.account)?;
        let kept = self.kept(&before)?;
        if !kept.is_empty() && !before.merges_secrets() {
            return Err(only_replaces(&before));
        }
        apply(&mut target, &before, &of(kept), self.yes, self.options.json)
    }

    /// Takes a single argument as a name, and checks the names.
    fn take_names(&mut self) -> Result<(), Error> {
        if self.names.is_empty() {
            self.names.extend(self.which.take_if(|_| true));
        }
        if self.names.is_empty() {
            let hint = "name them, such as `agentcli deploy secrets unset API_KEY`";
            return Err(Error::usage("no secrets given", hint));
        }
        if self.names.iter().any(|name| name.contains('=')) {
            // It is not shown: it may be a value.
            return Err(Error::usage("the name of a secret has no `=`", "name the secret without its value"));
        }
        Ok(())
    }

    /// The secrets that stay.
    fn kept(&self, before: &Deployment) -> Result<Vec<Secret>, Error> {
        if let Some(name) = self.names.iter().find(|name| !before.has_secret(name)) {
            let message = format!("{} has no secret `{name}`", title(before));
            let hint = format!("see its secrets with `agentcli deploy secrets list {}`", before.id);
            return Err(Error::usage(visible_line(&message), hint));
        }
        let is_kept = |secret: &&Secret| !self.names.contains(&secret.name);
        Ok(before.secrets.iter().filter(is_kept).cloned().collect())
    }
}

/// The patch that sets these secrets.
fn of(secrets: Vec<Secret>) -> DeploymentPatch {
    DeploymentPatch { secrets: Some(secrets), ..DeploymentPatch::default() }
}

fn only_replaces(deployment: &Deployment) -> Error {
    Error::usage(
        "this service can only replace all secrets of a deployment",
        format!(
            "give all that are to stay: `agentcli deploy update {} --secrets-from FILE --replace-secrets`",
            deployment.id
        ),
    )
}
