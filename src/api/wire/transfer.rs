//! Credentials for pushes, and addresses for uploads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Object, Redacted, optional_fields};

optional_fields! {
    /// The body of POST /v2/deployments/{deployment_id}/push-token.
    PushTokenRequest {
        /// Whether the response may contain a user name.
        supports_registry_username: bool,
    }

    /// The body of POST /v2/deployments/{deployment_id}/upload-url.
    UploadUrlRequest {
        /// Whether the response may contain headers.
        supports_upload_headers: bool,
    }
}

/// Short-lived credentials of a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushToken {
    /// The password.
    pub token: Redacted,
    /// The registry, with a path prefix for images.
    pub registry_url: String,
    /// User name [default: [`PushToken::USERNAME`]].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The repository to push to, if the service selects one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

impl PushToken {
    /// The default user name.
    pub const USERNAME: &str = "oauth2accesstoken";

    /// The user name.
    pub fn username(&self) -> &str {
        self.username.as_deref().unwrap_or(Self::USERNAME)
    }
}

/// A short-lived address to upload an archive to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadUrl {
    /// The address, which is secret.
    pub upload_url: Redacted,
    /// The `source_tarball_path` of the archive.
    pub object_path: String,
    /// Headers to send, which may be secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_headers: Option<BTreeMap<String, Redacted>>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}
