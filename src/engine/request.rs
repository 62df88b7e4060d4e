//! An image to build, and one that was built.

use std::collections::BTreeMap;

use super::events::StepOrigin;
use super::session::Secrets;
use crate::context::Context;

/// The build argument that makes BuildKit record in the image which step made each layer.
pub(super) const INLINE_CACHE: &str = "BUILDKIT_INLINE_CACHE";

/// The build argument with the time of the image.
pub(super) const TIME: &str = "SOURCE_DATE_EPOCH";

/// An image to build. There is no `Debug`: secrets have values.
#[derive(Clone)]
pub struct BuildRequest {
    /// The build context.
    pub context: Context,
    /// Path of the Dockerfile in the context.
    pub dockerfile: String,
    /// Path of the configuration in the context, if the Dockerfile was made from one.
    pub configuration: Option<String>,
    /// Names of the image, such as `app:1.0`.
    pub tags: Vec<String>,
    /// Target platform, such as `linux/arm64` [default: that of the engine].
    pub platform: Option<String>,
    /// Whether to pull newer base images.
    pub pull: bool,
    /// Whether to build without the engine's cache.
    pub no_cache: bool,
    /// The base images of the Dockerfile; credentials are looked up for their registries only.
    pub images: Vec<String>,
    /// Whether the Dockerfile reads nothing but `images` and the context. If so, and without `pull` and `no_cache`, an
    /// image that is up to date is not built again.
    pub images_known: bool,
    /// All instructions of the Dockerfile, in order, with the configuration keys that cause them.
    pub steps: Vec<StepOrigin>,
    /// Settings of the build.
    pub settings: Settings,
}

impl BuildRequest {
    /// The IDs of the secrets that no step mounts.
    pub(super) fn unused_secrets(&self) -> impl Iterator<Item = &String> {
        let is_used = |id: &str| {
            let mount = format!("id={id}");
            self.steps.iter().any(|step| step.instruction.split([',', ' ']).any(|part| part == mount))
        };
        self.settings.secrets.values.keys().filter(move |id| !is_used(id))
    }
}

/// A warning about a secret that no step mounts.
pub(super) fn unused(id: &str) -> String {
    let way = if id.starts_with("UV_INDEX_") {
        "; pass the credentials of indexes as a netrc file, with `--secret id=netrc,src=FILE`"
    } else {
        ""
    };
    format!("no step uses the secret `{id}`: there is no `--mount=type=secret,id={id}`{way}")
}

/// Settings of a build, as of `docker build`. There is no `Debug`: secrets have values.
#[derive(Clone, Default)]
pub struct Settings {
    /// Values of the `ARG` instructions.
    pub arguments: BTreeMap<String, String>,
    /// Labels of the image.
    pub labels: BTreeMap<String, String>,
    /// Host names and their addresses, as `HOST:IP`.
    pub hosts: Vec<String>,
    /// Network of the `RUN` instructions: `default`, `host` or `none`.
    pub network: Option<String>,
    /// Images in registries whose layers are used for the steps that made them.
    pub cache_from: Vec<String>,
    /// Whether the image records which step made each layer, so that other machines can use them.
    pub inline_cache: bool,
    /// The time of the image and the latest time of its files, in seconds since 1970 [default: that of the build].
    pub time: Option<i64>,
    /// Secrets and SSH agents.
    pub secrets: Secrets,
    /// The images that the build may use; the engine denies all other sources but the context [default: any source]. Only for
    /// an engine with source policies, and without `hosts`, `network`, `cache_from`, `inline_cache` and `time`.
    pub sources: Option<Vec<String>>,
}

impl Settings {
    /// Whether it uses layers of other machines, or makes layers for them.
    pub fn uses_cache(&self) -> bool {
        self.inline_cache || !self.cache_from.is_empty()
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its ID, `sha256:` and 64 hexadecimal digits.
    pub id: String,
    /// Its names.
    pub tags: Vec<String>,
}
