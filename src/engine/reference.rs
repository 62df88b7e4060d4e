//! References of images.

/// The registry of an image reference: its first part, if that is a host.
pub fn registry(image: &str) -> String {
    let host = image.split_once('/').map(|(host, _)| host);
    let host = host.filter(|host| host.contains(['.', ':']) || *host == "localhost");
    match host {
        None | Some("docker.io" | "index.docker.io" | "registry-1.docker.io") => "docker.io".to_owned(),
        Some(host) => host.to_owned(),
    }
}
