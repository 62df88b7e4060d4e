//! Quotas of tenants: how much each may have, so that one does not use up the host.

/// Something of which a tenant may have a limited amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Number of deployments.
    Deployments,
    /// Maximum number of replicas of all deployments together.
    Replicas,
    /// Number of kept archives and open upload URLs.
    Uploads,
    /// Size of the kept archives, in bytes.
    UploadBytes,
    /// Size of the pushed images, in bytes.
    ImageBytes,
    /// Size of the logs, in bytes; the oldest entries are removed.
    LogBytes,
}

impl Quota {
    /// All quotas, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Deployments,
        Self::Replicas,
        Self::Uploads,
        Self::UploadBytes,
        Self::ImageBytes,
        Self::LogBytes,
    ];

    /// The name, as the operator and tenants see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployments => "deployments",
            Self::Replicas => "replicas",
            Self::Uploads => "uploads",
            Self::UploadBytes => "upload-bytes",
            Self::ImageBytes => "image-bytes",
            Self::LogBytes => "log-bytes",
        }
    }

    /// The amount of a tenant for which the operator set no other.
    pub fn usual(self) -> u64 {
        match self {
            Self::Deployments | Self::Replicas => 200,
            Self::Uploads => 1000,
            Self::UploadBytes => 20 << 30,
            Self::ImageBytes => 100 << 30,
            Self::LogBytes => 1 << 30,
        }
    }

    /// The quota of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|quota| quota.name() == name)
    }
}

/// A quota that does not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "The quota '{}' of this tenant is {most}, and this needs {needed}; the operator of the host can raise it with `agentcli \
     host tenants set`.", .quota.name()
)]
pub(crate) struct Exceeded {
    pub(crate) quota: Quota,
    pub(crate) most: u64,
    pub(crate) needed: u64,
}
