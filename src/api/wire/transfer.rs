//! How images and archives get to the service.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Object, Redacted, optional_fields};

optional_fields! {
    /// The body of POST /v2/deployments/{deployment_id}/push-token.
    PushTokenRequest {
        /// Whether the answer may name the user to log in as.
        supports_registry_username: bool,
    }

    /// The body of POST /v2/deployments/{deployment_id}/upload-url.
    UploadUrlRequest {
        /// Whether the answer may name headers to send.
        supports_upload_headers: bool,
    }
}

/// Credentials of a registry, for a short time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushToken {
    /// The password.
    pub token: Redacted,
    /// The registry, with the path below which images are pushed.
    pub registry_url: String,
    /// Who to log in as; without it, [`PushToken::USERNAME`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The repository to push to, where the service has chosen one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}

impl PushToken {
    /// Who to log in as where the service does not say.
    pub const USERNAME: &str = "oauth2accesstoken";

    /// Who to log in as.
    pub fn username(&self) -> &str {
        self.username.as_deref().unwrap_or(Self::USERNAME)
    }
}

/// Where to put an archive, for a short time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadUrl {
    /// Whoever knows it may upload.
    pub upload_url: Redacted,
    /// What a deployment calls the archive: `source_tarball_path`.
    pub object_path: String,
    /// Headers to send; they may be as secret as the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_headers: Option<BTreeMap<String, Redacted>>,
    /// Fields of a newer service.
    #[serde(flatten)]
    pub other: Object,
}
