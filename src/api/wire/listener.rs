//! Listeners, which run deployments in the clusters of users. The specification does not describe them; fields are those of
//! the public service.

use serde::{Deserialize, Serialize};

use super::{Object, optional_fields};

/// A listener in a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listener {
    /// UUID: `source_config.listener_id` of a deployment.
    pub id: String,
    /// Name of the cluster, chosen by its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_id: Option<String>,
    /// The cluster.
    #[serde(default)]
    pub compute_config: ComputeConfig,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

optional_fields! {
    /// A cluster.
    ComputeConfig {
        /// The namespaces of deployments: `source_config.listener_config.cluster_namespace`.
        cluster_namespaces: Vec<String>,
    }
}

impl Listener {
    /// The namespaces of deployments.
    pub fn namespaces(&self) -> &[String] {
        self.compute_config.cluster_namespaces.as_deref().unwrap_or_default()
    }
}
