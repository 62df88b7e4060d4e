//! Provenance of an image: an in-toto statement with a predicate of SLSA 1.
//!
//! Source: <https://slsa.dev/spec/v1.0/provenance> and <https://github.com/in-toto/attestation/tree/main/spec/v1>.

use serde_json::{Map, Value, json};

/// The type of the build, which decides the meaning of its parameters.
const BUILD_TYPE: &str = "urn:agentcli:build:1";

/// How an image was built. It has names of build arguments and secrets, and no values.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance<'a> {
    /// The repository of the image.
    pub name: &'a str,
    /// The digest of the image there, `sha256:` and hexadecimal digits.
    pub digest: &'a str,
    /// Parameters under the user's control, by name.
    pub external: Map<String, Value>,
    /// Parameters that agentcli sets, by name.
    pub internal: Map<String, Value>,
    /// The resolved dependencies of the build.
    pub dependencies: Vec<Dependency>,
}

/// Something that an image was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// An image.
    Image {
        /// Its use, such as `base image`.
        role: &'static str,
        /// Its repository.
        name: String,
        /// Its tag, if it was named by one.
        tag: Option<String>,
        /// `sha256:` and hexadecimal digits, if it is certain.
        digest: Option<String>,
    },
    /// A commit of a Git repository.
    Commit {
        /// Its ID in hexadecimal digits.
        id: String,
        /// Address of the repository, without credentials.
        url: Option<String>,
    },
}

impl Provenance<'_> {
    /// The media type of a statement.
    pub const MEDIA_TYPE: &'static str = "application/vnd.in-toto+json";

    /// The type of the predicate.
    pub const PREDICATE: &'static str = "https://slsa.dev/provenance/v1";

    /// The statement as JSON. The same build is the same text: it has no time.
    pub fn write(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let dependencies: Vec<Value> = self.dependencies.iter().map(Dependency::descriptor).collect();
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": self.name, "digest": { "sha256": hexadecimal(self.digest) } }],
            "predicateType": Self::PREDICATE,
            "predicate": {
                "buildDefinition": {
                    "buildType": BUILD_TYPE,
                    "externalParameters": self.external,
                    "internalParameters": self.internal,
                    "resolvedDependencies": dependencies,
                },
                "runDetails": {
                    "builder": {
                        "id": format!("pkg:generic/agentcli@{version}"),
                        "version": { "agentcli": version },
                    },
                },
            },
        });
        format!("{statement:#}\n")
    }
}

impl Dependency {
    fn descriptor(&self) -> Value {
        let mut entry = Map::new();
        match self {
            Self::Image { role, name, tag, digest } => {
                let tag = tag.as_ref().map(|tag| format!("@{tag}")).unwrap_or_default();
                entry.insert("name".to_owned(), (*role).into());
                // The colon is that of a port.
                entry
                    .insert("uri".to_owned(), format!("pkg:docker/{}{tag}", name.replace(':', "%3A")).into());
                if let Some(digest) = digest {
                    entry.insert("digest".to_owned(), json!({ "sha256": hexadecimal(digest) }));
                }
            }
            Self::Commit { id, url } => {
                entry.insert("name".to_owned(), "source".into());
                if let Some(url) = url {
                    entry.insert("uri".to_owned(), format!("git+{url}@{id}").into());
                }
                entry.insert("digest".to_owned(), json!({ "gitCommit": id }));
            }
        }
        entry.into()
    }
}

fn hexadecimal(digest: &str) -> &str {
    digest.trim_start_matches("sha256:")
}
