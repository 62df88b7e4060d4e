//! Unix sockets.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tokio::net::UnixStream;

/// The scheme of a socket's address.
pub(in crate::engine) const SCHEME: &str = "unix";

/// The sockets of engines, in order of preference.
pub(in crate::engine) fn default_sockets(home: Option<&Path>, runtime: Option<&Path>) -> Vec<PathBuf> {
    let in_runtime = |path: &str| runtime.map(|runtime| runtime.join(path));
    [
        Some(PathBuf::from("/var/run/docker.sock")),
        in_runtime("docker.sock"),
        home.map(|home| home.join(".docker/run/docker.sock")),
        in_runtime("podman/podman.sock"),
        Some(PathBuf::from("/run/podman/podman.sock")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Connects to the socket `path`.
pub(in crate::engine) async fn connect(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path).await
}

/// Whether `path` is a socket.
pub fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}
