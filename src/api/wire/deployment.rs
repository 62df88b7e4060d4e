//! Deployments, revisions and their sources.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Agent, DeploymentStatus, DeploymentType, Object, Redacted, ResourceSpec, RevisionStatus, Source,
    optional_fields,
};

/// An application that the service runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// Chosen at creation; cannot be changed.
    pub name: String,
    /// Chosen at creation; cannot be changed.
    pub source: Source,
    /// Fields that can be changed without a new revision, and fields that cannot be changed.
    pub source_config: SourceConfig,
    /// The configuration of the latest revision.
    pub source_revision_config: SourceRevisionConfig,
    /// Secret environment variables.
    pub secrets: Vec<Secret>,
    /// UUID; read-only.
    pub id: String,
    /// UUID of the owner; read-only.
    pub tenant_id: String,
    /// ISO 8601; read-only.
    pub created_at: String,
    /// ISO 8601; read-only.
    pub updated_at: String,
    /// Read-only.
    pub status: DeploymentStatus,
    /// UUID of the newest revision; read-only.
    pub latest_revision_id: Option<String>,
    /// UUID of the running revision; read-only.
    pub active_revision_id: Option<String>,
    /// References to secrets of the cluster; `external_container` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_references: Option<Vec<SecretReference>>,
    /// Version of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_version: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

impl Deployment {
    /// The field that says that secrets without a value in a patch keep theirs, which the specification does not have.
    pub const MERGES_SECRETS: &str = "merges_secrets";

    /// Whether a secret without a value in a patch keeps the value that it has.
    pub fn merges_secrets(&self) -> bool {
        self.other.get(Self::MERGES_SECRETS) == Some(&Value::Bool(true))
    }

    /// Adds the secrets that `given` lacks, so that a patch with it keeps them.
    ///
    /// # Errors
    ///
    /// Their names, if a patch can only replace all secrets.
    pub fn keep_secrets(&self, given: &mut Vec<Secret>) -> Result<(), Vec<String>> {
        let is_kept = |secret: &&Secret| given.iter().all(|new| new.name != secret.name);
        let kept: Vec<Secret> = self.secrets.iter().filter(is_kept).cloned().collect();
        if !kept.is_empty() && !self.merges_secrets() {
            return Err(kept.into_iter().map(|secret| secret.name).collect());
        }
        given.extend(kept);
        Ok(())
    }

    /// Whether it has a secret of this name.
    pub fn has_secret(&self, name: &str) -> bool {
        self.secrets.iter().any(|secret| secret.name == name)
    }
}

/// A version of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// UUID; read-only.
    pub id: String,
    /// ISO 8601; read-only.
    pub created_at: String,
    /// ISO 8601; read-only.
    pub updated_at: String,
    /// Read-only.
    pub status: RevisionStatus,
    /// Its source: that of the deployment, unless the patch has another one.
    pub source: Source,
    /// The configuration of this revision.
    pub source_revision_config: SourceRevisionConfig,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

impl Revision {
    /// The field with the reason of a failure, which the specification does not have.
    pub const REASON: &str = "reason";

    /// The field with its number among the revisions of the deployment, which the specification does not have.
    pub const NUMBER: &str = "number";

    /// Why it failed, if it did and the service says so.
    pub fn reason(&self) -> Option<&str> {
        self.other.get(Self::REASON)?.as_str()
    }

    /// `revision 4`, or with its ID if the service does not count revisions.
    pub fn title(&self) -> String {
        let number = self.other.get(Self::NUMBER).and_then(Value::as_u64);
        number.map_or_else(|| format!("revision {}", self.id), |number| format!("revision {number}"))
    }
}

/// The body of POST /v2/deployments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentCreation {
    /// Cannot be changed. The service names the deployment of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent, instead of a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Cannot be changed.
    pub source: Source,
    /// Without fields that the service sets.
    pub source_config: SourceConfig,
    /// Without `repo_commit_sha`.
    pub source_revision_config: SourceRevisionConfig,
    /// Secret environment variables.
    pub secrets: Vec<Secret>,
    /// `external_container` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_references: Option<Vec<SecretReference>>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

optional_fields! {
    /// The body of PATCH /v2/deployments/{deployment_id}; absent fields do not change.
    DeploymentPatch {
        /// Source of the new revision: `codehost`, `internal_container` or `internal_source` [default: that of the
        /// deployment].
        revision_source: Source,
        /// Fields that can be changed without a new revision.
        source_config: SourceConfig,
        /// Fields that create a revision; without `repo_commit_sha`.
        source_revision_config: SourceRevisionConfig,
        /// Packages of the new revision that the service counts, as `name:version`.
        tracked_packages: Vec<String>,
        /// All secrets, not only those that change; one without a value keeps it, if the service merges secrets.
        secrets: Vec<Secret>,
        /// `external_container` only.
        secret_references: Vec<SecretReference>,
    }

    /// Fields of a source that can be changed without a new revision, or not at all.
    SourceConfig {
        /// UUID of the integration with a code host; `codehost` only; cannot be changed.
        integration_id: String,
        /// The repository's address; `codehost` only; cannot be changed.
        repo_url: String,
        /// Chosen at creation; cannot be changed.
        deployment_type: DeploymentType,
        /// Create a revision when the branch is pushed to; `codehost` only, and not with a tag.
        build_on_push: bool,
        /// URL of the deployment; the service sets it, unless the source is `external_container`.
        custom_url: String,
        /// Resources.
        resource_spec: ResourceSpec,
        /// UUID of the listener in the cluster; `external_container` only; cannot be changed.
        listener_id: String,
        /// Place in the cluster; cannot be changed.
        listener_config: ListenerConfig,
        /// A command, run from the root of the source; JavaScript only.
        install_command: String,
        /// A command, run from the directory of the configuration; JavaScript only.
        build_command: String,
    }

    /// Fields of a source that create a revision when they change.
    SourceRevisionConfig {
        /// A branch, or a tag as `refs/tags/NAME`; `codehost` only.
        repo_ref: String,
        /// Path of agent.json in the source; `codehost` and `internal_source` only.
        graph_config_path: String,
        /// The image with its digest; `external_container` and `internal_container` only.
        image_uri: String,
        /// `object_path` of an upload; `internal_source` only.
        source_tarball_path: String,
        /// The commit that was built; read-only, and never sent.
        repo_commit_sha: String,
    }

    /// A place in a cluster.
    ListenerConfig {
        /// The namespace; cannot be changed.
        cluster_namespace: String,
    }

    /// An environment variable from a secret of the cluster.
    SecretReference {
        /// The variable.
        name: String,
        /// The cluster's secret.
        secret_name: String,
        /// The key in that secret.
        secret_key: String,
    }
}

/// A secret environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The variable.
    pub name: String,
    /// Its value; responses may omit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Redacted>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

/// A repository of a code host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repository {
    /// UUID of the integration: `source_config.integration_id` of a deployment.
    pub host_integration_id: String,
    /// The code host's number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// Its address: `source_config.repo_url` of a deployment.
    pub url: String,
    /// A branch: `source_revision_config.repo_ref` of a deployment.
    pub default_branch: String,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// At most `limit` resources.
    pub resources: Vec<T>,
    /// Offset of the next page.
    pub offset: u64,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}
