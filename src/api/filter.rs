//! Filters of deployments.

use super::wire::{Agent, DeploymentStatus, DeploymentType};

/// A filter of deployments; by default, it selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentFilter {
    /// Substring of the name.
    pub name_contains: Option<String>,
    /// Status.
    pub status: Option<DeploymentStatus>,
    /// Whether the deployment has reached its desired state.
    pub remote_reconciled: Option<bool>,
    /// UUIDs of tag values; all if empty.
    pub tag_value_ids: Vec<String>,
    /// Version of the server.
    pub image_version: Option<String>,
    /// Type.
    pub deployment_type: Option<DeploymentType>,
    /// Agent and environment.
    pub agent: Option<Agent>,
    /// UUIDs of deployments; all if empty.
    pub deployment_ids: Vec<String>,
}

impl DeploymentFilter {
    /// The query parameters.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
        let parameters = [
            ("name_contains", self.name_contains.clone()),
            ("status", self.status.as_ref().map(ToString::to_string)),
            ("remote_reconciled", self.remote_reconciled.map(|it| it.to_string())),
            ("tag_value_ids", joined(&self.tag_value_ids)),
            ("image_version", self.image_version.clone()),
            ("deployment_type", self.deployment_type.as_ref().map(ToString::to_string)),
            ("agent_id", self.agent.as_ref().map(|it| it.agent_id.clone())),
            ("agent_environment", self.agent.as_ref().map(|it| it.environment.to_string())),
            ("deployment_ids", joined(&self.deployment_ids)),
        ];
        parameters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
