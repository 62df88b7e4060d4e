//! The commit that a build context is of.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use crate::api::http::Url;
use crate::child::{self, Command, Status};
use crate::context::{Entry, Kind, Listing};

/// How long git may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Size of an answer from which on it may be cut off, in bytes.
const LONG: usize = 1 << 20;

/// Schemes of addresses that lead to a repository from other machines.
const SCHEMES: &[&str] = &["git", "http", "https", "ssh"];

/// A commit.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    /// Its ID in hexadecimal digits.
    pub(super) id: String,
    /// Address of the repository that it was fetched from, without credentials.
    pub(super) url: Option<String>,
}

impl Commit {
    /// The commit that has all files of `listing`, the context at `root`, as they are; otherwise the reason why there is none,
    /// as a fragment.
    pub(super) async fn of(root: &Path, listing: &Listing) -> Result<Self, String> {
        let id = git(root, &["rev-parse", "--verify", "HEAD^{commit}"]).await?.trim().to_owned();
        let prefix = git(root, &["rev-parse", "--show-prefix"]).await?;
        let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--ignored", "--", "."];
        let status = git(root, &status).await?;
        let differs = |line: &&str| is_difference(line, prefix.trim_end_matches('\n'), listing);
        if status.len() >= LONG || status.split_terminator('\0').any(|line| differs(&line)) {
            return Err("files of the build context are not committed".to_owned());
        }
        let url = git(root, &["remote", "get-url", "origin"]).await.ok();
        Ok(Self { id, url: url.and_then(|url| public(url.trim())) })
    }
}

/// Whether a line of git's status is a difference between the commit and the context. `prefix` is that of the context in the
/// repository. Files that git does not know are one only if they are in the context.
fn is_difference(line: &str, prefix: &str, listing: &Listing) -> bool {
    let (kind, path) = line.split_at_checked(3).unwrap_or((line, ""));
    if !kind.starts_with("??") && !kind.starts_with("!!") {
        return true;
    }
    // A directory has a slash at its end, and one that holds the context is all of it.
    let path = path.strip_prefix(prefix).unwrap_or_default().trim_end_matches('/');
    let is_file = |entry: &&Entry| entry.kind != Kind::Directory;
    listing.entries().iter().filter(is_file).any(|entry| entry.path.starts_with(path))
}

/// The answer of git to these arguments; the error is a fragment.
async fn git(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let command = Command::new("git", directory)
        // Nothing that the repository configures is run.
        .arguments(["-c", "core.fsmonitor=false", "--no-optional-locks"])
        .arguments(arguments)
        .without("GIT_DIR")
        .without("GIT_WORK_TREE");
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => "git cannot be started".to_owned(),
    };
    let answer = timeout(PATIENCE, child::output_and_errors(&command, "")).await;
    let (status, output, errors) = answer.map_err(|_| "git takes too long".to_owned())?.map_err(failed)?;
    if status != Status::Code(0) {
        let line = errors.lines().next().unwrap_or("git failed");
        return Err(line.trim_start_matches("fatal: ").to_owned());
    }
    String::from_utf8(output).map_err(|_| "git names a path that is not UTF-8".to_owned())
}

/// The address without credentials, if others can use it. `user@host:path` is one of SSH.
fn public(address: &str) -> Option<String> {
    let mut url = match address.split_once(':') {
        Some((host, path)) if !path.starts_with("//") => {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let is_host = host.contains('.') && !host.contains(['/', '\\']);
            Url::parse(&format!("ssh://{host}/{}", path.trim_start_matches('/'))).ok().filter(|_| is_host)?
        }
        _ => Url::parse(address).ok()?,
    };
    let is_public = SCHEMES.contains(&url.scheme());
    let is_bare = url.set_username("").is_ok() && url.set_password(None).is_ok();
    url.set_query(None);
    url.set_fragment(None);
    (is_public && is_bare).then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::compiler::manifests::dockerignore::Ignore;
    use crate::context::Context;

    #[test]
    fn files_that_git_does_not_know_count_if_they_are_in_the_context() {
        let root = TempDir::new().unwrap();
        for path in ["sub/b.py", "empty/.venv/x"] {
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), "").unwrap();
        }
        let ignore = Ignore::parse("**/.venv").unwrap();
        let (extra, configurations) = (Vec::new(), Vec::new());
        let context = Context { root: root.path().to_owned(), ignore, extra, configurations };
        let listing = context.list().unwrap();
        for (line, expected) in [
            (" M app/readme.md", true),
            (" D app/gone.py", true),
            ("?? app/sub/b.py", true),
            ("?? app/sub/", true),
            ("?? app/sub/b", false),
            ("?? app/empty/", false),
            ("!! app/empty/.venv/", false),
            // All of the context.
            ("?? app/", true),
            ("!! ./", true),
        ] {
            assert_eq!(is_difference(line, "app/", &listing), expected, "{line}");
        }
    }

    #[test]
    fn addresses_have_no_credentials_and_no_paths_of_this_machine() {
        for (address, expected) in [
            ("https://ada:token@git.example/team/agent.git", Some("https://git.example/team/agent.git")),
            ("https://token@git.example/agent?token=1#x", Some("https://git.example/agent")),
            ("git@git.example:team/agent.git", Some("ssh://git.example/team/agent.git")),
            ("ssh://git@git.example:2222/agent", Some("ssh://git.example:2222/agent")),
            ("/home/ada/agent", None),
            ("../agent", None),
            ("file:///home/ada/agent", None),
            ("C:\\agent", None),
            ("c:/agent", None),
            ("", None),
        ] {
            assert_eq!(public(address).as_deref(), expected, "{address}");
        }
    }
}
