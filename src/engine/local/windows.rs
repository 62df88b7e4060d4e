//! Named pipes, the sockets of engines and SSH agents on Windows.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient};
use tokio::time::sleep;

/// The scheme of a pipe's address.
pub(in crate::engine) const SCHEME: &str = "npipe";

/// The start of the path of a pipe.
const PIPES: &str = r"\\.\pipe\";

/// Error of a pipe all of whose instances are in use: ERROR_PIPE_BUSY.
const BUSY: i32 = 231;

/// Interval between attempts to connect to a pipe that is in use.
const RETRY: Duration = Duration::from_millis(50);

/// The pipes of engines, in order of preference.
pub(in crate::engine) fn default_sockets(_: Option<&Path>, _: Option<&Path>) -> Vec<PathBuf> {
    ["//./pipe/docker_engine", "//./pipe/podman-machine-default"].map(PathBuf::from).into()
}

/// Connects to the pipe `path`.
pub(in crate::engine) async fn connect(path: &Path) -> io::Result<NamedPipeClient> {
    loop {
        match ClientOptions::new().open(path) {
            Err(error) if error.raw_os_error() == Some(BUSY) => sleep(RETRY).await,
            done => return done,
        }
    }
}

/// Whether `path` is that of a pipe.
pub fn is_socket(path: &Path) -> bool {
    path.to_string_lossy().replace('/', r"\").starts_with(PIPES)
}
