//! `--to kubernetes`: the cluster, and what the commands there share.

use std::path::Path;
use std::time::Duration;

use clap::ArgMatches;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use serde_json::Value;

use super::confirmation::Confirmation;
use super::saved::Saved;
use crate::api::wire::{self, DeploymentPatch, ResourceSpec};
use crate::cli::compile::Planned;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::image_name;
use crate::cli::printer::Printer;
use crate::cli::resources::{host, reference, resources};
use crate::cli::runtime::Runtime;
use crate::cli::variables::{self, Reserved};
use crate::cluster::{self, Change, Cluster, ContainerValues, Deployment, Record};
use crate::compiler::words::listed;
use crate::error::Error;
use crate::kubernetes::{self, Refused};
use crate::ship::PLATFORM;

/// The environment variables that kubectl and its plugins read beside those of this process.
const VARIABLES: [&str; 2] = ["KUBECONFIG", "PATH"];

/// The options that only the deployment service has.
const SERVICE_ONLY: &[&str] = &[
    "agent_environment",
    "agent_id",
    "all",
    "api_key",
    "build_on_push",
    "custom_url",
    "deployment_id",
    "deployment_type",
    "file",
    "graph_config_path",
    "host_url",
    "ids",
    "image_version",
    "k8s_namespace",
    "listener_id",
    "no_remote",
    "remote",
    "remote_reconciled",
    "repo_ref",
    "revision_source",
    "status",
    "tag_value_ids",
    "vocabulary",
];

/// The target that is a cluster.
pub(in crate::cli::command) const KUBERNETES: &str = "kubernetes";

/// Time for an update, a rollback or a restart that has no option for it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The options of a cluster.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct ClusterOptions {
    /// Target: kubernetes, which is a cluster that kubectl reaches [default: a deployment service]
    // `rollback` has one of its own, which names a revision, too.
    #[arg(long, global = true, value_name = "TARGET", value_parser = PossibleValuesParser::new([KUBERNETES]), hide_possible_values = true, hide_short_help = true)]
    to: Vec<String>,

    /// Context of kubectl [default: the current one]
    #[arg(long, global = true, value_name = "CONTEXT", hide_short_help = true)]
    context: Option<String>,

    /// Namespace in the cluster [default: that of the context]
    #[arg(long, global = true, value_name = "NAMESPACE", hide_short_help = true)]
    namespace: Option<String>,
}

/// The options of a revision in a cluster that the project does not decide.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct RevisionOptions {
    /// Set a resource field, such as cpu=2, min_scale=2 or labels='{"a": "b"}'; others are kept (repeatable)
    #[arg(long, value_name = "FIELD=VALUE", hide_short_help = true)]
    resource: Vec<String>,

    /// Take a variable from a secret of the cluster; POSTGRES_URI and REDIS_URI replace the databases (repeatable)
    #[arg(long, value_name = "NAME=SECRET/KEY", hide_short_help = true)]
    secret_reference: Vec<String>,

    /// Image of the executors, if executor or orchestrator resources are set
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse, hide_short_help = true)]
    executor_image: Option<String>,

    /// Host that an Ingress serves, through the default class of the cluster; kept by later revisions
    #[arg(long, value_name = "HOST", value_parser = host, hide_short_help = true)]
    host: Option<String>,

    /// Go back to the revision before if the new one does not start
    #[arg(long, hide_short_help = true)]
    atomic: bool,

    /// Keep --context, --namespace and --push-to in agentcli.json beside the configuration, for later commands
    #[arg(long, hide_short_help = true)]
    pub(super) save: bool,
}

impl RevisionOptions {
    /// The revision of a planned project after those of `found`.
    pub(super) fn change(
        &self,
        name: String,
        image: String,
        found: Option<&Deployment>,
        planned: &Planned,
    ) -> Result<Change, Error> {
        let before =
            found.and_then(Deployment::latest).map(|revision| revision.record.clone()).unwrap_or_default();
        let mut resources = resources(before.resources, &self.resource)?;
        let containers = take_values(&name, &mut resources)?;
        let given =
            self.secret_reference.iter().map(|text| reference(text)).collect::<Result<Vec<_>, _>>()?;
        let mut references = before.references;
        references.retain(|old| given.iter().all(|new| new.name != old.name));
        references.extend(given);
        let server = &planned.plan.server;
        let record = Record {
            image,
            executor_image: self.executor_image.clone().or(before.executor_image),
            images: planned.plan.images.clone(),
            host: self.host.clone().or(before.host),
            server: server.product.name.to_owned(),
            is_javascript: server.release.is_some(),
            prefix: Some(planned.route_prefix()),
            configuration: planned.plan.config.sha256.clone(),
            resources,
            references,
            ..before
        };
        Ok(Change { containers, is_atomic: self.atomic, name, record, ..Change::default() })
    }
}

/// A cluster, the runtime of its calls, and the environment that their notes are printed to.
pub(super) struct InCluster<'a> {
    pub(super) env: &'a mut Env,
    pub(super) runtime: Runtime,
    pub(super) cluster: Cluster,
}

impl ClusterOptions {
    /// Whether a cluster is meant.
    pub(super) fn is_meant(&self) -> bool {
        self.to.iter().any(|to| to == KUBERNETES)
    }

    /// The variables that are no secrets of a deployment there.
    pub(super) fn reserved(&self) -> Reserved {
        if self.is_meant() { variables::OF_CLUSTER } else { variables::OF_SERVICE }
    }

    /// The options, with a repository to push to, and for those that are not given what --save has kept in `directory`.
    pub(super) fn saved(&self, push_to: Option<String>, directory: &Path) -> Result<Saved, Error> {
        let given = Saved { context: self.context.clone(), namespace: self.namespace.clone(), push_to };
        given.or_file(directory)
    }

    /// The cluster.
    pub(super) fn open<'a>(&self, env: &'a mut Env) -> Result<InCluster<'a>, Error> {
        let saved = self.saved(None, &env.directory)?;
        InCluster::find(env, &saved)
    }
}

impl<'a> InCluster<'a> {
    /// The cluster of these options.
    pub(super) fn find(env: &'a mut Env, saved: &Saved) -> Result<Self, Error> {
        let runtime = env.runtime()?;
        let variables = kubectl_variables(env);
        let target = saved.target();
        let finding = Cluster::find(&target, &env.directory, &variables, env.stop.clone());
        let cluster = runtime.block_on(finding)?;
        Ok(Self { env, runtime, cluster })
    }
}

impl InCluster<'_> {
    /// The platform to build for: one of the nodes, of which it refuses any other.
    pub(super) fn platform(&self, given: Option<String>) -> Result<String, Error> {
        let platforms = self.call(async |cluster| cluster.nodes().await)?.platforms;
        let is_of_nodes = |platform: &str| platforms.iter().any(|it| platform.starts_with(it.as_str()));
        match given {
            Some(given) if platforms.is_empty() || is_of_nodes(&given) => Ok(given),
            Some(given) => {
                let nodes = listed(platforms.iter().map(String::as_str));
                let message = format!(
                    "the image would be for {}, and the nodes of context `{}` are {nodes}",
                    visible_line(&given),
                    self.cluster.context
                );
                Err(Error::usage(message, "leave out --platform, or pass one of the nodes"))
            }
            None if platforms.contains(PLATFORM) => Ok(PLATFORM.to_owned()),
            None => Ok(platforms.first().cloned().unwrap_or_else(|| PLATFORM.to_owned())),
        }
    }

    /// Calls the cluster.
    pub(super) fn call<T>(
        &self,
        call: impl AsyncFnOnce(&Cluster) -> Result<T, cluster::Error>,
    ) -> Result<T, Error> {
        Ok(self.runtime.block_on(call(&self.cluster))?)
    }

    /// The deployment of this name.
    pub(super) fn existing(&self, name: &str) -> Result<Deployment, Error> {
        self.call(async |cluster| cluster.existing(name).await)
    }

    /// The deployments whose names contain `text`.
    pub(super) fn deployments(&self, text: &str) -> Result<Vec<wire::Deployment>, Error> {
        let mut found = self.call(async |cluster| cluster.deployments().await)?;
        found.retain(|deployment| deployment.name.contains(text));
        Ok(found.iter().map(|deployment| deployment.wire(&self.cluster)).collect())
    }

    /// Deploys a revision again, and returns the number of the new one.
    pub(super) fn redeploy(
        &mut self,
        name: &str,
        revision: &str,
        timeout: Duration,
    ) -> Result<String, Error> {
        let found = self.existing(name)?;
        let record = found.revisions.iter().find(|it| it.number.to_string() == revision);
        let record = record.map(|it| it.record.clone()).unwrap_or_default();
        let (name, wait) = (name.to_owned(), Some(timeout));
        self.revise(Change { name, record, wait, is_forced: true, ..Change::default() })
    }

    /// Makes a revision with these changes, unless it would be the same.
    pub(super) fn patch(
        &mut self,
        before: &wire::Deployment,
        patch: &DeploymentPatch,
    ) -> Result<wire::Deployment, Error> {
        let found = self.existing(&before.name)?;
        let record = found.latest().map(|it| it.record.clone()).unwrap_or_default();
        let mut change =
            Change { name: found.name.clone(), record, wait: Some(TIMEOUT), ..Change::default() };
        let record = &mut change.record;
        if let Some(spec) = patch.source_config.as_ref().and_then(|config| config.resource_spec.as_ref()) {
            record.resources = merged(&record.resources, spec)?;
            change.containers = take_values(&found.name, &mut record.resources)?;
        }
        if let Some(image) = patch.source_revision_config.as_ref().and_then(|it| it.image_uri.clone()) {
            record.image = image;
        }
        if let Some(references) = &patch.secret_references {
            record.references.clone_from(references);
        }
        if let Some(secrets) = &patch.secrets {
            let set = secrets.iter().filter(|secret| secret.value.is_some());
            change.secrets = set.map(|secret| (secret.name.clone(), secret.value.clone())).collect();
            let is_gone = |name: &&String| secrets.iter().all(|secret| secret.name != **name);
            let gone: Vec<String> = record.variables.iter().filter(is_gone).cloned().collect();
            change.secrets.extend(gone.into_iter().map(|name| (name, None)));
        }
        self.revise(change)?;
        Ok(self.existing(&before.name)?.wire(&self.cluster))
    }

    fn revise(&mut self, change: Change) -> Result<String, Error> {
        let mut printer = Printer::new(self.env, false, Confirmation { is_given: true });
        let revising = cluster::run(&self.cluster, change, None, &mut printer);
        Ok(self.runtime.block_on(revising)?.unwrap_or_default().to_string())
    }
}

/// The values of variables of containers, which a Secret keeps; none without any.
fn take_values(name: &str, resources: &mut ResourceSpec) -> Result<Option<ContainerValues>, Error> {
    let refused =
        |refused: Refused| Error::usage(visible_line(&refused.message), visible_line(&refused.hint));
    let taken = kubernetes::take_values(name, resources).map_err(refused)?;
    Ok(Some(taken).filter(|(_, values)| !values.is_empty()))
}

/// The resources with the fields that a patch sets.
fn merged(before: &ResourceSpec, patch: &ResourceSpec) -> Result<ResourceSpec, Error> {
    let unwritable = |error| Error::Internal(format!("resources are JSON: {error}"));
    let mut fields = serde_json::to_value(before).map_err(unwritable)?;
    let given = serde_json::to_value(patch).map_err(unwritable)?;
    if let (Some(fields), Value::Object(given)) = (fields.as_object_mut(), given) {
        fields.extend(given.into_iter().filter(|(_, value)| !value.is_null()));
    }
    serde_json::from_value(fields).map_err(unwritable)
}

/// The variables that kubectl gets from the environment of this program.
pub(in crate::cli::command) fn kubectl_variables(env: &Env) -> Vec<(String, String)> {
    VARIABLES.into_iter().filter_map(|name| Some((name.to_owned(), env.variable(name)?))).collect()
}

/// Refuses options of the service for a cluster, and the other way round.
///
/// # Errors
///
/// The option, by its name.
pub(in crate::cli) fn check_options(matches: &ArgMatches) -> Result<(), Error> {
    let mut matches = matches;
    let mut words = Vec::new();
    while let Some((name, inner)) = matches.subcommand() {
        words.push(name);
        matches = inner;
    }
    if words.first() != Some(&"deploy") {
        return Ok(());
    }
    let given = |id: &str| {
        let is_known = matches.ids().any(|known| known == id);
        is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let option = |id: &str| format!("--{}", id.replace('_', "-"));
    let is_cluster = matches.ids().any(|id| id == "to")
        && matches.get_many::<String>("to").is_some_and(|mut all| all.any(|to| to == KUBERNETES));
    if is_cluster {
        return match SERVICE_ONLY.iter().find(|id| given(id)) {
            Some(id) => Err(Error::usage(
                format!("{} does not apply to a cluster", option(id)),
                "leave it out, or leave out --to kubernetes",
            )),
            None => Ok(()),
        };
    }
    let of_revision = if words.len() == 1 { REVISION_ONLY } else { &[] };
    match CLUSTER_ONLY.iter().chain(of_revision).find(|id| given(id)) {
        Some(id) => Err(Error::usage(
            format!("{} needs --to kubernetes", option(id)),
            "add it, or leave this option out",
        )),
        None => Ok(()),
    }
}

/// The options that only a cluster has.
const CLUSTER_ONLY: &[&str] =
    &["atomic", "context", "executor_image", "host", "namespace", "save", "volumes"];

/// Those that `deploy` itself has for a cluster only.
const REVISION_ONLY: &[&str] = &["resource", "secret_reference"];
