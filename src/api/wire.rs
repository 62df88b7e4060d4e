//! What goes over the wire: the records of the deployment service, in the words of its specification.
//!
//! Identifiers are UUIDs and times are ISO 8601, both as text. Fields that are not known here, from a newer service,
//! are kept in `other`, and so are values of an enumeration, in `Other`: what was read can be written again without
//! loss. An optional field that is absent or null is `None`, and is left out when it is written.

mod deployment;
mod log;
mod problem;
mod redacted;
mod resources;
mod transfer;
mod words;

pub use deployment::{
    Deployment, DeploymentCreation, DeploymentPatch, ListenerConfig, Page, Repository, Revision, Secret,
    SecretReference, SourceConfig, SourceRevisionConfig,
};
pub use log::{Cursor, LogEntry, LogPage, LogRequest, Timestamp};
pub(crate) use problem::expected;
pub use problem::{Detail, Location, Problem, ValidationError};
pub use redacted::Redacted;
pub use resources::{
    ContainerResources, ContainerSpec, EnvironmentVariable, ImagePullSecret, ResourceSpec, Volume,
    VolumeMount,
};
pub use transfer::{PushToken, PushTokenRequest, UploadUrl, UploadUrlRequest};
pub use words::{DeploymentStatus, DeploymentType, LogLevel, LogOrder, RevisionStatus, Source};

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
            /// Fields of a newer service.
            #[serde(flatten)]
            pub other: $crate::api::wire::Object,
        }

        impl $name {
            /// The names of its fields, as they are here.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),*];
        }
    )* };
}
use optional_fields;

/// Defines an enumeration of words that keeps words of a newer service.
macro_rules! word_list {
    ($($(#[$about:meta])* $name:ident { $($(#[$about_word:meta])* $variant:ident = $word:literal,)* })*) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$about_word])* $variant,)*
            /// A word of a newer service.
            Other(String),
        }

        impl $name {
            /// Every word that is known.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The word on the wire.
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
