//! Revisions of a deployment, each in a ConfigMap.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::error::Kind;
use super::{COMPONENT, Cluster, DIGEST, Error, INSTANCE, MANAGED_BY, MANAGER, label, labels, list, text};
use crate::api::wire::{self, Redacted, ResourceSpec, RevisionStatus, SecretReference, Source};
use crate::compiler::server::cluster;
use crate::compiler::server::product::Product;
use crate::kubernetes::{self, Manifests};

/// The component of the ConfigMaps.
pub(super) const REVISIONS: &str = "revision";

/// The key of a record in its ConfigMap.
const KEY: &str = "revision.json";

/// Annotations of a revision: its status, and the reason of a failure.
const STATUS: &str = "agentcli/status";
const REASON: &str = "agentcli/reason";

/// Number of revisions that are kept, beside the active one.
const KEPT: usize = 10;

/// The inputs of the objects of a revision, without values of secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Image of the server, with its digest if it has one.
    pub image: String,
    /// Image of the executors of the distributed runtime.
    pub executor_image: Option<String>,
    /// Images with their digests, by name, instead of those that tags name.
    pub images: BTreeMap<String, String>,
    /// Name of the server.
    pub server: String,
    /// Whether the server is the one for JavaScript that agentcli installs.
    pub is_javascript: bool,
    /// Prefix of the server's routes, unless a variable sets another.
    pub prefix: Option<String>,
    /// The digest of the configuration of the image.
    pub configuration: String,
    /// Resources. Values of variables of containers are replaced by references to our Secret.
    pub resources: ResourceSpec,
    /// Variables from secrets of the cluster.
    pub references: Vec<SecretReference>,
    /// The variables of the server.
    pub variables: Vec<String>,
    /// Host that an Ingress serves.
    #[serde(default)]
    pub host: Option<String>,
    /// Time that a stopping server gives its runs, if the variables set it.
    pub drain: Option<String>,
}

impl Record {
    /// The objects of the revision.
    ///
    /// # Errors
    ///
    /// Those of [`kubernetes::manifests`], and an unknown server.
    pub(super) fn manifests(&self, place: (&str, &str), revision: u32) -> Result<Manifests, Error> {
        let (name, namespace) = place;
        let unknown = || {
            let message =
                format!("revision {revision} of `{name}` runs the unknown server `{}`", self.server);
            Kind::Refused.error(message, "update agentcli")
        };
        let server = Product::named(&self.server).ok_or_else(unknown)?;
        let mut variables: IndexMap<String, Option<Redacted>> =
            self.variables.iter().map(|name| (name.clone(), None)).collect();
        let drain = self.drain.iter().map(|value| Some(Redacted::new(value)));
        variables.extend(drain.map(|value| (cluster::DRAIN_VARIABLE.to_owned(), value)));
        let request = kubernetes::Request {
            configuration: &self.configuration,
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
            image: self.image.clone(),
            images: self.images.clone(),
            executor_image: self.executor_image.clone(),
            server,
            is_javascript: self.is_javascript,
            prefix: self.prefix.clone(),
            resources: self.resources.clone(),
            references: self.references.clone(),
            variables,
            writes_secrets: false,
            host: self.host.clone(),
            revision: Some(revision),
        };
        let refused = |refused: kubernetes::Refused| Kind::Refused.error(refused.message, refused.hint);
        let mut manifests = kubernetes::manifests(&request).map_err(refused)?;
        let is_workload = |it: &&mut Value| matches!(text(it, "/kind"), "Deployment" | "StatefulSet");
        for workload in manifests.objects.iter_mut().filter(is_workload) {
            workload["metadata"]["annotations"][DIGEST] = self.digest().into();
        }
        Ok(manifests)
    }

    /// The address of the server: of the Ingress, if there is one, else in the cluster.
    pub(super) fn url(&self, cluster: &Cluster, name: &str) -> String {
        let host = self.host.as_ref().filter(|host| !host.starts_with('*'));
        let host = host.cloned().unwrap_or_else(|| format!("{name}.{}.svc", cluster.namespace));
        format!("http://{host}")
    }

    /// The digest of everything but the values of secrets.
    pub(super) fn digest(&self) -> String {
        hex::encode(Sha256::digest(json!(self).to_string()))
    }
}

/// A revision of a deployment in a cluster.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u32,
    /// Its inputs.
    pub record: Record,
    /// Its status. One that is being deployed may have lost its deployer.
    pub status: RevisionStatus,
    /// Why it failed.
    pub reason: Option<String>,
    /// ISO 8601.
    pub created_at: String,
}

impl Revision {
    /// The revision in a ConfigMap.
    fn read(object: &Value) -> Option<Self> {
        let number = text(object, "/metadata/name").rsplit_once('-')?.1.parse().ok()?;
        let annotation = |name: &str| object["metadata"]["annotations"][name].as_str().map(str::to_owned);
        Some(Self {
            number,
            record: serde_json::from_str(object["data"][KEY].as_str()?).ok()?,
            status: annotation(STATUS)?.as_str().into(),
            reason: annotation(REASON),
            created_at: text(object, "/metadata/creationTimestamp").to_owned(),
        })
    }

    /// The ConfigMap.
    pub(super) fn object(&self, name: &str, namespace: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": object_name(name, self.number),
                "namespace": namespace,
                "labels": labels(name, REVISIONS),
                "annotations": {
                    STATUS: self.status.word(),
                    REASON: self.reason.clone().unwrap_or_default(),
                    DIGEST: self.record.digest(),
                },
            },
            "data": { KEY: json!(self.record).to_string() },
        })
    }

    /// The same in the form of the API, with the number as its ID.
    pub fn wire(&self) -> wire::Revision {
        let mut other = wire::Object::new();
        other.insert(wire::Revision::NUMBER.to_owned(), self.number.into());
        if let Some(reason) = self.reason.as_ref().filter(|reason| !reason.is_empty()) {
            other.insert(wire::Revision::REASON.to_owned(), reason.clone().into());
        }
        wire::Revision {
            id: self.number.to_string(),
            created_at: self.created_at.clone(),
            updated_at: self.created_at.clone(),
            status: self.status.clone(),
            source: Source::ExternalContainer,
            source_revision_config: self.config(),
            other,
        }
    }

    fn config(&self) -> wire::SourceRevisionConfig {
        wire::SourceRevisionConfig { image_uri: Some(self.record.image.clone()), ..Default::default() }
    }
}

pub(super) fn object_name(name: &str, number: u32) -> String {
    format!("{name}-{REVISIONS}-{number}")
}

/// A deployment in a cluster, with its revisions.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its name.
    pub name: String,
    /// Its revisions, the newest first.
    pub revisions: Vec<Revision>,
}

impl Deployment {
    /// The revision that serves: the newest that was deployed.
    pub fn active(&self) -> Option<&Revision> {
        self.revisions.iter().find(|it| it.status == RevisionStatus::Deployed)
    }

    /// The newest revision.
    pub fn latest(&self) -> Option<&Revision> {
        self.revisions.first()
    }

    /// The same in the form of the API, with the name as its ID.
    pub fn wire(&self, cluster: &Cluster) -> wire::Deployment {
        let (latest, first) = (self.latest(), self.revisions.last());
        let record = latest.map(|it| it.record.clone()).unwrap_or_default();
        let secret =
            |name: &String| wire::Secret { name: name.clone(), value: None, other: Default::default() };
        let mut other = wire::Object::new();
        other.insert(wire::Deployment::MERGES_SECRETS.to_owned(), true.into());
        other.insert("context".to_owned(), cluster.context.clone().into());
        let id = |revision: &Revision| revision.number.to_string();
        let time = |revision: Option<&Revision>| revision.map(|it| it.created_at.clone()).unwrap_or_default();
        wire::Deployment {
            name: self.name.clone(),
            source: Source::ExternalContainer,
            source_config: wire::SourceConfig {
                custom_url: Some(record.url(cluster, &self.name)),
                resource_spec: Some(record.resources.clone()).filter(|spec| *spec != ResourceSpec::default()),
                listener_config: Some(wire::ListenerConfig {
                    cluster_namespace: Some(cluster.namespace.clone()),
                    ..Default::default()
                }),
                ..Default::default()
            },
            source_revision_config: latest.map(Revision::config).unwrap_or_default(),
            secrets: record.variables.iter().map(secret).collect(),
            id: self.name.clone(),
            tenant_id: cluster.namespace.clone(),
            created_at: time(first),
            updated_at: time(latest),
            status: wire::DeploymentStatus::Ready,
            latest_revision_id: latest.map(id),
            active_revision_id: self.active().map(id),
            secret_references: Some(record.references).filter(|it| !it.is_empty()),
            image_version: None,
            other,
        }
    }

    /// The revisions that are no longer needed.
    pub(super) fn surplus(&self) -> impl Iterator<Item = &Revision> {
        let active = self.active().map(|it| it.number);
        self.revisions.iter().skip(KEPT).filter(move |it| Some(it.number) != active)
    }
}

impl Cluster {
    /// The deployment of this name.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached, or the user may not read it.
    pub async fn deployment(&self, name: &str) -> Result<Option<Deployment>, Error> {
        let selector = format!("{INSTANCE}={name}");
        Ok(self.read(&selector).await?.into_iter().next())
    }

    /// All deployments of the namespace, by name.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached, or the user may not read it.
    pub async fn deployments(&self) -> Result<Vec<Deployment>, Error> {
        self.read(&format!("{MANAGED_BY}={MANAGER}")).await
    }

    /// The deployment of this name.
    ///
    /// # Errors
    ///
    /// There is none, or those of [`Cluster::deployment`].
    pub async fn existing(&self, name: &str) -> Result<Deployment, Error> {
        self.deployment(name).await?.ok_or_else(|| {
            let message = format!("there is no deployment `{name}` in {}", self.title());
            Kind::Failed.error(message, format!("run `agentcli deploy list{}`, or deploy it", self.options()))
        })
    }

    async fn read(&self, selector: &str) -> Result<Vec<Deployment>, Error> {
        let selector = format!("{selector},{COMPONENT}={REVISIONS}");
        let mut all: BTreeMap<String, Vec<Revision>> = BTreeMap::new();
        for object in self.kubectl.objects(&["get", "configmaps", "-l", &selector], "").await? {
            if let Some(revision) = Revision::read(&object) {
                all.entry(label(&object, INSTANCE).to_owned()).or_default().push(revision);
            }
        }
        Ok(all
            .into_iter()
            .map(|(name, mut revisions)| {
                revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
                // Nobody goes on with one that is followed by another.
                for abandoned in revisions.iter_mut().skip(1).filter(|it| !it.status.is_final()) {
                    abandoned.status = RevisionStatus::Interrupted;
                }
                Deployment { name, revisions }
            })
            .collect())
    }

    /// Writes a revision.
    pub(super) async fn write(&self, name: &str, revision: &Revision) -> Result<(), Error> {
        self.kubectl.apply(&list([&revision.object(name, &self.namespace)])).await
    }
}
