//! The part of the disk that belongs to a project: nothing else is read for it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What belongs to a project.
#[derive(Clone, Copy, Debug)]
pub enum Boundary<'a> {
    /// The Git repository around the configuration. Without one, the root of the workspace that lists its directory, or else
    /// that directory.
    Project,
    /// The content of this directory, which the user or the service chose.
    Directory(&'a Path),
}

/// The home directory, which holds more than one project.
static HOME: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::home_dir().filter(|home| !home.as_os_str().is_empty())?.canonicalize().ok());

/// The root of the repository around `directory`, a real path. One in the home directory or above it does not count: it
/// holds settings, and everything else of its owner lies in it.
pub(super) fn repository(directory: &Path) -> Option<PathBuf> {
    candidates(directory, HOME.as_deref())
        .find(|it| it.join(".git").symlink_metadata().is_ok())
        .map(PathBuf::from)
}

/// The largest directory around `directory`, a real path, that a project can have.
pub(super) fn widest(directory: &Path) -> &Path {
    candidates(directory, HOME.as_deref()).last().unwrap_or(directory)
}

/// The outermost of the `roots` around `directory` that lie in `widest`, or else `directory`.
pub(super) fn outermost(directory: &Path, widest: &Path, roots: impl Iterator<Item = PathBuf>) -> PathBuf {
    let around = roots.filter(|root| directory.starts_with(root) && root.starts_with(widest));
    around.min_by_key(|root| root.components().count()).unwrap_or_else(|| directory.to_owned())
}

/// Whether the project in `directory` can be nothing less than the whole file system.
pub(super) fn is_everything(directory: &Path) -> bool {
    directory.parent().is_none()
}

/// `directory` and those above it that one project can fill: neither the root of the file system, nor the home directory
/// or one above it, unless the configuration lies right there.
fn candidates<'a>(directory: &'a Path, home: Option<&Path>) -> impl Iterator<Item = &'a Path> {
    let is_shared = move |it: &Path| it.parent().is_none() || home.is_some_and(|home| home.starts_with(it));
    let own = std::iter::once(directory);
    let above = directory.ancestors().skip(1).take_while(move |it| !is_shared(it));
    // A repository in the home directory is none of a project in it.
    own.chain(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(directory: &str, home: &str) -> String {
        let found = candidates(Path::new(directory), Some(Path::new(home))).last().unwrap();
        found.to_str().unwrap().to_owned()
    }

    #[test]
    fn neither_the_root_nor_the_home_directory_is_one_project() {
        for (directory, home, expected) in [
            ("/srv/a/b", "/root", "/srv"),
            ("/home/me/work/a", "/home/me", "/home/me/work"),
            ("/home/me/a", "/home/me", "/home/me/a"),
            ("/home/you/a", "/home/me", "/home/you"),
            ("/home/me", "/home/me", "/home/me"),
            ("/app/x", "/", "/app"),
        ] {
            assert_eq!(largest(directory, home), expected, "{directory}");
        }
    }

    #[test]
    fn a_workspace_around_the_directory_is_the_project() {
        let span = |roots: &[&str]| {
            let roots = roots.iter().map(PathBuf::from);
            outermost(Path::new("/w/apps/a"), Path::new("/w"), roots).to_str().unwrap().to_owned()
        };
        assert_eq!(span(&[]), "/w/apps/a");
        assert_eq!(span(&["/w/apps", "/w/apps/a"]), "/w/apps");
        assert_eq!(span(&["/w/apps/a/lib", "/w/apps/b", "/w/libs/x"]), "/w/apps/a");
        assert_eq!(span(&["/etc", "/", "/w"]), "/w");
    }
}
