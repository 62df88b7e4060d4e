//! `agentcli manifests`

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::api::wire::{Deployment, Redacted, ResourceSpec};
use crate::cli::account::AccountOptions;
use crate::cli::agent_lock;
use crate::cli::artifact::{Artifact, SaveOptions};
use crate::cli::build_options::in_long_help;
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::console::{note, visible_line, warn};
use crate::cli::env::Env;
use crate::cli::image_name;
use crate::cli::resources::{host, reference, resources};
use crate::cli::service::Service;
use crate::cli::settings::{Settings, deployment_name};
use crate::cli::variables;
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::back::emit::heading::{WITH_VALUES, comments, heading};
use crate::error::Error;
use crate::kubernetes::{self, Manifests as Made, Refused, Request};
use crate::project;

/// The default name of the file.
const NAME: &str = "manifests.yaml";

#[derive(Debug, clap::Args)]
#[command(mut_args(in_long_help))]
#[command(after_help = "\
Examples:
  agentcli manifests k8s.yaml --image r.example/agent:1          write them
  agentcli manifests k8s.yaml --image r.example/agent:1 --check  fail if they are not up to date
  agentcli manifests k8s.yaml --deployment my-agent              as the deployment service runs it
  agentcli manifests - --image r.example/agent:1 --with-secrets | kubectl apply -f -")]
pub(crate) struct Manifests {
    #[command(flatten)]
    options: PlanOptions,

    /// Image of the server, in a registry that the cluster pulls from [default: that of --deployment]
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse, required_unless_present = "deployment")]
    image: Option<String>,

    /// Image of the executors, if executor or orchestrator resources are set
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse)]
    executor_image: Option<String>,

    /// Name of the deployment, which starts all names [default: that of --deployment, or as in `deploy`]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Take image, name, resources and secret references from this deployment of the deployment service
    #[arg(long, value_name = "ID|NAME")]
    deployment: Option<String>,

    /// JSON file with resources, in the form of `resource_spec` of the API
    #[arg(long, value_name = "FILE", conflicts_with = "deployment")]
    resources: Option<PathBuf>,

    /// Set a resource field, such as cpu=2, memory_mb=4096 or labels='{"a": "b"}' (repeatable)
    #[arg(long, value_name = "FIELD=VALUE")]
    resource: Vec<String>,

    /// Take a variable from a secret of the cluster; POSTGRES_URI and REDIS_URI replace the databases (repeatable)
    #[arg(long, value_name = "NAME=SECRET/KEY")]
    secret_reference: Vec<String>,

    /// Host that an Ingress serves, through the default class of the cluster
    #[arg(long, value_name = "HOST", value_parser = host)]
    host: Option<String>,

    /// Write Secrets with the values of `env` and of container variables
    #[arg(long)]
    with_secrets: bool,

    #[command(flatten)]
    save: SaveOptions,

    #[command(flatten)]
    account: AccountOptions,
}

impl Manifests {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let save_path = self.save.path(env, NAME)?;
        let planned = self.options.plan(env, agent_lock::ByDefault::Never)?;
        let request = self.request(env, &planned)?;
        let refused = |Refused { message, hint }| Error::usage(visible_line(&message), visible_line(&hint));
        let Made { text, requirements, notes, services, .. } =
            kubernetes::manifests(&request).map_err(refused)?;
        planned.check_services(&services)?;
        for text in &notes {
            note(env, &visible_line(text));
        }
        let heading = heading(&planned.plan, "; `agentcli manifests` writes it again.");
        let values = if self.with_secrets { WITH_VALUES } else { "" };
        let text =
            heading + values + &comments(requirements.iter().map(|it| format!("Requires {it}"))) + &text;
        let Some(save_path) = save_path else { return Ok(env.out.write(&text)?) };
        if self.with_secrets {
            warn(
                env,
                "the manifests contain secrets; print them with `-` into `kubectl apply -f -` to keep them out of files",
            );
        }
        for text in &requirements {
            note(env, &format!("the cluster needs {}", visible_line(text)));
        }
        let next = format!("kubectl apply -f {}", shell_word(&project::with_slashes(&save_path)));
        let artifacts = [Artifact { has_values: self.with_secrets, ..Artifact::new(save_path, text) }];
        self.save.save(env, &planned, &artifacts, &next)
    }

    fn request<'a>(&self, env: &mut Env, planned: &'a Planned) -> Result<Request<'a>, Error> {
        let mut settings = Settings::of(env, &planned.project);
        let deployment = self.deployment(env, &mut settings)?;
        let name = match (&self.name, &deployment) {
            (None, Some(deployment)) => deployment.name.clone(),
            (given, _) => deployment_name(env, given.as_deref(), &settings)?,
        };
        let values = variables::values(env, &planned.project, &planned.config, false);
        let mut variables: IndexMap<_, _> = values
            .into_iter()
            .filter_map(|(name, value)| Some((name, Some(Redacted::new(value?)))))
            .collect();
        let mut references = Vec::new();
        let mut spec = ResourceSpec::default();
        let mut namespace = None;
        let mut image = None;
        if let Some(it) = deployment {
            for secret in it.secrets {
                variables.entry(secret.name).or_insert(None);
            }
            let source = it.source_config;
            namespace = source.listener_config.and_then(|config| config.cluster_namespace);
            spec = source.resource_spec.unwrap_or_default();
            references = it.secret_references.unwrap_or_default();
            image = it.source_revision_config.image_uri;
        }
        if let Some(path) = &self.resources {
            spec = self.read_resources(env, path)?;
        }
        for text in &self.secret_reference {
            references.push(reference(text)?);
        }
        let missing = || Error::usage("the deployment has no image", "pass --image");
        Ok(Request {
            configuration: &planned.plan.config.sha256,
            name,
            namespace,
            image: self.image.clone().or(image).ok_or_else(missing)?,
            images: planned.plan.images.clone(),
            executor_image: self.executor_image.clone(),
            server: planned.plan.server.product,
            is_javascript: planned.plan.server.release.is_some(),
            prefix: Some(planned.route_prefix()),
            resources: resources(spec, &self.resource)?,
            references,
            variables,
            writes_secrets: self.with_secrets,
            host: self.host.clone(),
            revision: None,
        })
    }

    fn deployment(&self, env: &mut Env, settings: &mut Settings) -> Result<Option<Deployment>, Error> {
        let Some(which) = &self.deployment else { return Ok(None) };
        let mut service = Service::with(env, &self.account, settings)?;
        service.deployment(which).map(Some)
    }

    /// Reads resources. Messages of the parser are not shown, since they may contain a secret.
    fn read_resources(&self, env: &Env, path: &Path) -> Result<ResourceSpec, Error> {
        let shown = path.display();
        let text = project::text(&env.directory.join(path))
            .ok_or_else(|| Error::misused(format!("cannot read `{shown}` as text")))?;
        serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message =
                format!("cannot read the resources of `{shown}`: mistake at line {line}, column {column}");
            Error::usage(message, "write them as JSON, in the form of `resource_spec` of the API")
        })
    }
}
