//! Deployments, their revisions, and what they are made from.

use serde::{Deserialize, Serialize};

use super::{
    DeploymentStatus, DeploymentType, Object, Redacted, ResourceSpec, RevisionStatus, Source, optional_fields,
};

/// An application that the service runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// Chosen at creation; cannot be changed.
    pub name: String,
    /// Chosen at creation; cannot be changed.
    pub source: Source,
    /// What can be changed without a new revision, and what cannot be changed.
    pub source_config: SourceConfig,
    /// What is newest: of the latest revision.
    pub source_revision_config: SourceRevisionConfig,
    /// Environment variables that are kept secret.
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
    /// UUID of the revision that runs; read-only.
    pub active_revision_id: Option<String>,
    /// Secrets of the cluster; only where the source is `external_container`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_references: Option<Vec<SecretReference>>,
    /// The server's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_version: Option<String>,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

/// One state of a deployment's source.
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
    /// What it is made from: the deployment's source, unless a patch said otherwise.
    pub source: Source,
    /// Of this revision.
    pub source_revision_config: SourceRevisionConfig,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

/// The body of POST /v2/deployments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentCreation {
    /// Cannot be changed later on.
    pub name: String,
    /// Cannot be changed later on.
    pub source: Source,
    /// Without what the service itself sets.
    pub source_config: SourceConfig,
    /// Without `repo_commit_sha`.
    pub source_revision_config: SourceRevisionConfig,
    /// Environment variables that are kept secret.
    pub secrets: Vec<Secret>,
    /// Only where the source is `external_container`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_references: Option<Vec<SecretReference>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub other: Object,
}

optional_fields! {
    /// The body of PATCH /v2/deployments/{deployment_id}: what is absent stays as it is.
    DeploymentPatch {
        /// What the new revision is made from: `codehost`, `internal_container` or `internal_source`; without it, what
        /// the deployment is made from.
        revision_source: Source,
        /// What can be changed without a new revision.
        source_config: SourceConfig,
        /// What makes a new revision; without `repo_commit_sha`.
        source_revision_config: SourceRevisionConfig,
        /// All secrets, not only those that change.
        secrets: Vec<Secret>,
        /// Only where the source is `external_container`.
        secret_references: Vec<SecretReference>,
    }

    /// What is particular to a source and can be changed without a new revision, or not at all.
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
        /// How much it may use.
        resource_spec: ResourceSpec,
        /// UUID of what deploys in the user's cluster; `external_container` only; cannot be changed.
        listener_id: String,
        /// Where in the cluster; cannot be changed.
        listener_config: ListenerConfig,
        /// A command, run from the root of the source; JavaScript only.
        install_command: String,
        /// A command, run from the directory of the configuration; JavaScript only.
        build_command: String,
    }

    /// What is particular to a source and makes a new revision when it is changed.
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

    /// Where in a cluster.
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

/// An environment variable that is kept secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The variable.
    pub name: String,
    /// Its value: requests have one, and answers need not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Redacted>,
    /// Fields of a newer service.
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
    /// Whose it is.
    pub owner: String,
    /// Its address: `source_config.repo_url` of a deployment.
    pub url: String,
    /// A branch: `source_revision_config.repo_ref` of a deployment.
    pub default_branch: String,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// At most as many as were asked for.
    pub resources: Vec<T>,
    /// What to ask for to get the next part.
    pub offset: u64,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}
