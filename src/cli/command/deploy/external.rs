//! The options of `deploy` for images in registries of the user's.

use crate::compiler::manifests::image_name::ImageName;
use crate::error::Error;
use crate::ship::{Method, Placement};

/// The longest name of a Kubernetes object.
const LONGEST: usize = 253;

/// The image.
#[derive(Debug, clap::Args)]
#[group(id = "external", multiple = false)]
#[command(next_help_heading = "External images")]
pub(super) struct ExternalImage {
    /// Build the image, or take that of --image, and push it to this repository with the credentials of `docker login`
    #[arg(long, value_name = "REPOSITORY[:TAG]", value_parser = repository, conflicts_with_all = ["remote", "revision_source"])]
    push_to: Option<Repository>,

    /// Deploy this image without building or pushing one
    #[arg(long, value_name = "REPOSITORY@DIGEST", value_parser = pinned, conflicts_with_all = ["remote", "no_remote", "image", "tags", "platform", "no_cache", "revision_source"], hide_short_help = true)]
    image_uri: Option<String>,
}

/// The place of a new deployment from an external image.
#[derive(Debug, clap::Args)]
pub(super) struct PlacementOptions {
    /// Listener that runs a new deployment in your cluster [default: the only one]
    #[arg(
        long,
        value_name = "ID",
        requires = "external",
        conflicts_with = "deployment_id",
        hide_short_help = true
    )]
    listener_id: Option<String>,

    /// Namespace of a new deployment in the cluster of the listener [default: the only one]
    #[arg(
        long,
        value_name = "NAMESPACE",
        requires = "external",
        conflicts_with = "deployment_id",
        hide_short_help = true
    )]
    k8s_namespace: Option<String>,

    /// Secret in the cluster that pulls the image of a new deployment (repeatable)
    #[arg(long = "image-pull-secret", value_name = "NAME", value_parser = object_name, requires = "external", conflicts_with = "deployment_id", hide_short_help = true)]
    image_pull_secrets: Vec<String>,
}

/// A repository to push to.
#[derive(Clone, Debug)]
struct Repository {
    name: String,
    tag: Option<String>,
}

impl ExternalImage {
    /// The method, if an external image is deployed.
    pub(super) fn method(&self) -> Option<Method> {
        let push_to = self.push_to.as_ref().map(|to| Method::PushTo(to.name.clone()));
        push_to.or_else(|| self.image_uri.clone().map(Method::ImageUri))
    }

    /// The repository to push to.
    pub(super) fn push_to(&self) -> Option<String> {
        let Repository { name, tag } = self.push_to.as_ref()?;
        Some(tag.as_ref().map_or_else(|| name.clone(), |tag| format!("{name}:{tag}")))
    }

    /// Pushes to this repository unless an option says otherwise.
    pub(super) fn push_by_default(&mut self, to: Option<&str>) -> Result<(), Error> {
        if self.push_to.is_none() && self.image_uri.is_none() {
            self.push_to = to.map(repository).transpose().map_err(Error::misused)?;
        }
        Ok(())
    }

    /// The tag in --push-to.
    pub(super) fn tag(&self) -> Option<&str> {
        self.push_to.as_ref()?.tag.as_deref()
    }

    /// The name of the image to push, if it is pushed to a registry of the user's.
    pub(super) fn pushed_name(&self, tag: &str) -> Option<String> {
        self.push_to.as_ref().map(|to| format!("{}:{tag}", to.name))
    }
}

impl PlacementOptions {
    pub(super) fn placement(&self) -> Placement {
        Placement {
            listener_id: self.listener_id.clone(),
            namespace: self.k8s_namespace.clone(),
            image_pull_secrets: self.image_pull_secrets.clone(),
        }
    }
}

fn repository(text: &str) -> Result<Repository, String> {
    match ImageName::parse(text)? {
        ImageName { digest: Some(_), .. } => {
            Err("a digest cannot be pushed; write REPOSITORY:TAG".to_owned())
        }
        ImageName { name, tag, .. } => Ok(Repository { name: name.to_owned(), tag: tag.map(str::to_owned) }),
    }
}

fn pinned(text: &str) -> Result<String, String> {
    let is_sha256 = |digest: &str| {
        digest.strip_prefix("sha256:").is_some_and(|hex| !hex.contains(|c: char| c.is_ascii_uppercase()))
    };
    match ImageName::parse(text)?.digest {
        Some(digest) if is_sha256(digest) => Ok(text.to_owned()),
        _ => Err("write it as REPOSITORY@sha256: and 64 lowercase hexadecimal digits".to_owned()),
    }
}

/// The name of a Kubernetes object: lowercase words of letters, digits and inner hyphens, joined by dots.
fn object_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_word = |word: &str| {
        word.starts_with(is_plain)
            && word.ends_with(is_plain)
            && word.chars().all(|c| is_plain(c) || c == '-')
    };
    if text.len() <= LONGEST && text.split('.').all(is_word) {
        return Ok(text.to_owned());
    }
    Err(format!("use lowercase letters, digits, and inner `-` and `.`, at most {LONGEST} characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_have_no_digest() {
        let tag = |text: &str| repository(text).map(|it| (it.name, it.tag));
        assert_eq!(tag("r.example:5000/a/b"), Ok(("r.example:5000/a/b".to_owned(), None)));
        assert_eq!(tag("r.example/a:v1"), Ok(("r.example/a".to_owned(), Some("v1".to_owned()))));
        for text in ["", "R.example/A b", "r.example/A", "a:b:c", &format!("a@sha256:{}", "0".repeat(64))] {
            assert!(repository(text).is_err(), "{text}");
        }
    }

    #[test]
    fn image_uris_have_a_whole_digest() {
        let with = |digest: &str| pinned(&format!("r.example/a{digest}")).is_ok();
        let hex = "0123456789abcdef".repeat(4);
        assert!(with(&format!("@sha256:{hex}")) && with(&format!(":v1@sha256:{hex}")));
        for digest in [
            String::new(),
            ":latest".to_owned(),
            "@sha256:".to_owned(),
            format!("@sha256:{}", &hex[1..]),
            format!("@sha256:{hex}0"),
            format!("@sha256:{}g", &hex[1..]),
            format!("@sha256:{}", hex.to_uppercase()),
            format!("@sha512:{hex}{hex}"),
        ] {
            assert!(!with(&digest), "{digest}");
        }
    }

    #[test]
    fn pull_secrets_are_kubernetes_names() {
        let long = "a".repeat(253);
        for name in ["a", "regcred", "a-b.c-1.d", "0", &long] {
            assert!(object_name(name).is_ok(), "{name}");
        }
        let longer = "a".repeat(254);
        for name in ["", "A", "a_b", "-a", "a-", ".a", "a..b", "a.-b", "ä", &longer] {
            assert!(object_name(name).is_err(), "{name}");
        }
    }
}
