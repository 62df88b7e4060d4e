//! References of images.

/// The registry of an image reference: its first part, if that is a host.
pub(super) fn registry(image: &str) -> String {
    registry_and_repository(image).0.to_owned()
}

/// The registry of an image reference, and what follows it.
pub fn registry_and_repository(image: &str) -> (&str, &str) {
    let parts = image.split_once('/').filter(|(host, _)| host.contains(['.', ':']) || *host == "localhost");
    match parts {
        None => ("docker.io", image),
        Some(("docker.io" | "index.docker.io" | "registry-1.docker.io", rest)) => ("docker.io", rest),
        Some(parts) => parts,
    }
}
