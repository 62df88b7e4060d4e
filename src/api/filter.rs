//! Which deployments a list has.

use super::wire::{DeploymentStatus, DeploymentType};

/// Which deployments a list has; without any of it, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentFilter {
    /// A part of the name.
    pub name_contains: Option<String>,
    /// How it is.
    pub status: Option<DeploymentStatus>,
    /// Whether what runs is what is wanted.
    pub remote_reconciled: Option<bool>,
    /// UUIDs of tag values; empty for any.
    pub tag_value_ids: Vec<String>,
    /// The server's version.
    pub image_version: Option<String>,
    /// How large it is.
    pub deployment_type: Option<DeploymentType>,
    /// UUIDs of deployments; empty for any.
    pub deployment_ids: Vec<String>,
}

impl DeploymentFilter {
    /// The parameters of the query.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
        let parameters = [
            ("name_contains", self.name_contains.clone()),
            ("status", self.status.as_ref().map(ToString::to_string)),
            ("remote_reconciled", self.remote_reconciled.map(|it| it.to_string())),
            ("tag_value_ids", joined(&self.tag_value_ids)),
            ("image_version", self.image_version.clone()),
            ("deployment_type", self.deployment_type.as_ref().map(ToString::to_string)),
            ("deployment_ids", joined(&self.deployment_ids)),
        ];
        parameters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
