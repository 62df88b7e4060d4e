//! The records of the deployment service, as its specification defines them.
//!
//! IDs are UUIDs and times are ISO 8601, both as text. Unknown fields of newer services are kept in `other`, and unknown
//! values of enumerations in `Other`, so that records can be written without loss. Optional fields that are absent or null
//! are `None`, and are omitted when written.

mod agent;
mod deployment;
mod listener;
mod log;
mod problem;
mod redacted;
mod resources;
mod transfer;
mod words;

pub use agent::Agent;
pub use deployment::{
    Deployment, DeploymentCreation, DeploymentPatch, ListenerConfig, Page, Repository, Revision, Secret,
    SecretReference, SourceConfig, SourceRevisionConfig,
};
pub use listener::{ComputeConfig, Listener};
pub use log::{Cursor, LogEntry, LogPage, LogRequest, Timestamp};
pub use problem::expected;
pub use problem::{Detail, Location, Problem, ValidationError};
pub use redacted::Redacted;
pub use resources::{
    ContainerResources, ContainerSpec, EnvironmentVariable, ImagePullSecret, ResourceSpec, Tier, TierSpec,
    Volume, VolumeMount,
};
pub use transfer::{PushToken, PushTokenRequest, UploadUrl, UploadUrlRequest};
pub use words::{
    AgentEnvironment, DeploymentStatus, DeploymentType, LogLevel, LogOrder, RevisionStatus, Source,
};

/// A JSON object of no fixed shape.
pub type Object = serde_json::Map<String, serde_json::Value>;

/// Defines a JSON object all of whose fields are optional.
macro_rules! optional_fields {
    ($($(#[$about:meta])* $name:ident { $($(#[$about_field:meta])* $field:ident: $kind:ty,)* })*) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $(
                $(#[$about_field])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$kind>,
            )*
            /// Unknown fields.
            #[serde(flatten)]
            pub other: $crate::api::wire::Object,
        }

        impl $name {
            /// Names of the fields.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),*];
        }
    )* };
}
use optional_fields;

/// Defines an enumeration of words that keeps unknown words.
macro_rules! word_list {
    ($($(#[$about:meta])* $name:ident { $($(#[$about_word:meta])* $variant:ident = $word:literal,)* })*) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$about_word])* $variant,)*
            /// An unknown word.
            Other(String),
        }

        impl $name {
            /// The known words.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The word in JSON.
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)*
                    _ => Self::Other(word),
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                word.to_owned().into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.word().to_owned()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    )* };
}
use word_list;
