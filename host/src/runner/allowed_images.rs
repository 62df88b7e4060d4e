//! Images that tenants name. The engine has more than theirs: those of other tenants and of the operator.

use agentcli::compiler::manifests::image_name::ImageName;
use agentcli::compiler::server::product::PRODUCTS;
use url::Host;

use crate::net::address;

/// Docker Hub, the registry of names without one, and its other name.
const HUB: &str = "docker.io";
const HUB_INDEX: &str = "index.docker.io";

/// The beginning of the names that hosts give to images.
const OF_HOSTS: &str = "agentcli-host";

/// The reason to refuse an image of a registry on this machine or its network.
pub(super) const NOT_PUBLIC: &str =
    "its registry is not public; the operator can permit the image with --allow-image";

/// The images that the operator lets all tenants use as the engine has them, or as the operator's credentials get them: those
/// that servers are built on, and those that it lists. All others come from their registry, without credentials.
#[derive(Clone, Debug, Default)]
pub struct AllowedImages(Vec<Pattern>);

#[derive(Clone, Debug)]
enum Pattern {
    All,
    /// The beginning of full names, up to a slash.
    Below(String),
    /// A full name, and the tag or digest if it is not any.
    Image(String, Option<String>),
}

impl AllowedImages {
    /// Those that match one of `patterns`: `REPOSITORY`, `REPOSITORY:TAG`, `REPOSITORY@DIGEST`, `PREFIX/*` or `*`. The error
    /// is a fragment.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        patterns.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an image is one of them.
    pub(super) fn has(&self, image: &str) -> bool {
        let Ok(image) = parse(image) else { return false };
        let (name, version) = (full_name(image.name), image.digest.or(image.tag));
        let of_servers =
            PRODUCTS.iter().flat_map(|server| [Some(server.python_image), server.javascript_image]);
        let is_of_server = of_servers.flatten().any(|it| full_name(it) == name);
        is_of_server
            || self.0.iter().any(|pattern| match pattern {
                Pattern::All => true,
                Pattern::Below(prefix) => name.starts_with(prefix.as_str()),
                Pattern::Image(own, None) => *own == name,
                Pattern::Image(own, Some(wanted)) => *own == name && version == Some(wanted),
            })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::All);
        }
        let wrong = |reason: &str| format!("`{text}` is not an image, PREFIX/* or *: {reason}");
        if let Some(prefix) = text.strip_suffix("/*") {
            // A name below it, without its last part.
            let name = full_name(&format!("{prefix}/x"));
            ImageName::parse(&name).map_err(wrong)?;
            return Ok(Self::Below(name.trim_end_matches('x').to_owned()));
        }
        let image = ImageName::parse(text).map_err(wrong)?;
        let version = image.digest.or(image.tag).map(str::to_owned);
        Ok(Self::Image(full_name(image.name), version))
    }
}

/// The parts of the name of an image. An ID, or the beginning of one, would be any image of the engine. The error is a
/// fragment.
pub(crate) fn parse(text: &str) -> Result<ImageName<'_>, String> {
    if is_id(text) {
        return Err(format!(
            "`{text}` is the ID of an image or the beginning of one; name the image with its repository and its tag"
        ));
    }
    ImageName::parse(text).map_err(|reason| format!("`{text}` is not the name of an image: {reason}"))
}

/// Whether an engine may take `text` for an ID: it looks up hexadecimal digits among the IDs where there is no such name.
fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    !digits.is_empty() && digits.len() <= 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Whether a name is one that this service, or another one on the same engine, gives to images: they may be of other tenants.
pub(crate) fn is_of_host(image: &str) -> bool {
    // Podman puts names without a registry at `localhost`.
    let registries = [HUB, HUB_INDEX, "localhost"];
    let without = registries.iter().find_map(|it| image.strip_prefix(it)?.strip_prefix('/'));
    let (first, _) = without.unwrap_or(image).split_once('/').unwrap_or_default();
    first.strip_prefix(OF_HOSTS).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The full name of an image that comes from its registry, with its tag or digest. The error is a fragment: the registry is on
/// this machine or its network, which only the operator may reach.
pub(super) fn public(image: &str) -> Result<String, String> {
    let ImageName { name, tag, digest } = parse(image)?;
    let full = full_name(name);
    // Resolvers also take numbers such as `0x7f.1` for addresses.
    let is_public = match Host::parse(registry_host(&full)) {
        Ok(Host::Domain(name)) => !address::is_localhost(&name),
        Ok(Host::Ipv4(ip)) => address::is_public(ip.into()),
        Ok(Host::Ipv6(ip)) => address::is_public(ip.into()),
        Err(_) => false,
    };
    if !is_public {
        return Err(NOT_PUBLIC.to_owned());
    }
    Ok(match digest {
        Some(digest) => format!("{full}@{digest}"),
        None => format!("{full}:{}", tag.unwrap_or("latest")),
    })
}

/// The host of the registry in a full name, without its port.
pub(super) fn registry_host(full: &str) -> &str {
    let registry = full.split('/').next().unwrap_or_default();
    let port = registry.rfind(':').filter(|_| !registry.ends_with(']'));
    &registry[..port.unwrap_or(registry.len())]
}

/// A repository with its registry, as engines complete it.
fn full_name(name: &str) -> String {
    match name.split_once('/') {
        Some((HUB | HUB_INDEX, path)) if path.contains('/') => format!("{HUB}/{path}"),
        Some((HUB | HUB_INDEX, path)) => format!("{HUB}/library/{path}"),
        Some((host, _)) if is_registry(host) => name.to_owned(),
        Some(_) => format!("{HUB}/{name}"),
        None => format!("{HUB}/library/{name}"),
    }
}

fn is_registry(part: &str) -> bool {
    part == "localhost" || part.contains(['.', ':']) || part.bytes().any(|letter| letter.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use agentcli::compiler::server;

    use super::*;

    #[test]
    fn ids_and_their_beginnings_are_no_names() {
        let digest = "2d0823".repeat(11)[..64].to_owned();
        for id in ["2d0823", "a", "FACE", &digest, &format!("sha256:{digest}"), "sha256:2d0823"] {
            assert!(parse(id).unwrap_err().contains("is the ID of an image"), "{id}");
        }
        for name in ["2d0823:1", "face:latest", "library/face", "debian", &format!("face@sha256:{digest}")] {
            assert!(parse(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn images_of_hosts_have_several_names() {
        for name in ["agentcli-host/a:1", "docker.io/agentcli-host-12/a:1", "localhost/agentcli-host-12/a:1"]
        {
            assert!(is_of_host(name), "{name}");
        }
        for name in ["agentcli-hosting/a", "agentcli-host", "registry.example/agentcli-host/a"] {
            assert!(!is_of_host(name), "{name}");
        }
    }

    #[test]
    fn patterns_compare_full_names() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let pinned = format!("pinned@{digest}");
        let patterns = ["debian", "registry.example/team/*", "acme/*", "localhost:5000/*", "one:1", &pinned];
        let allowed = AllowedImages::new(&patterns.map(str::to_owned)).unwrap();
        for image in [
            "debian",
            "debian:12",
            "docker.io/library/debian:12",
            "index.docker.io/debian",
            "registry.example/team/a/b:1",
            "docker.io/acme/agent",
            "localhost:5000/agent:1",
            "one:1",
            &pinned,
            server::PYTHON_IMAGE,
            &format!("docker.io/{}:3.13", server::JAVASCRIPT_IMAGE),
        ] {
            assert!(allowed.has(image), "{image}");
        }
        for image in [
            "debian-other",
            "other/debian",
            "registry.example/debian",
            "registry.example/teams/a",
            "registry.example/team",
            "acme2/agent",
            "one",
            "one:2",
            "pinned",
            "localhost:5001/agent",
            "not an image",
        ] {
            assert!(!allowed.has(image), "{image}");
        }
        assert!(AllowedImages::new(&["*".to_owned()]).unwrap().has("anything"));
        for wrong in ["", "a*", "/*", "a b", "*/a", "A/B"] {
            assert!(AllowedImages::new(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_public_registries_are_asked() {
        for (image, expected) in [
            ("debian", "docker.io/library/debian:latest"),
            ("acme/agent:1", "docker.io/acme/agent:1"),
            ("registry.example:5000/agent", "registry.example:5000/agent:latest"),
        ] {
            assert_eq!(public(image).as_deref(), Ok(expected));
        }
        for image in [
            "localhost/a",
            "localhost:5000/a",
            "LocalHost:5000/a",
            "registry.localhost:5000/a",
            "127.0.0.1:5000/a",
            "127.1.2.3/a",
            "[::1]:5000/a",
            "[::1]/a",
            "0x7f.1/a",
            "10.0.0.1:5000/a",
            "169.254.169.254/a",
            "2d0823",
        ] {
            assert!(public(image).is_err(), "{image}");
        }
    }
}
