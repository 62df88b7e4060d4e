//! The commit that a build context is of.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use crate::api::http::Url;
use crate::child::{self, Command, Status};
use crate::context::{Kind, Listing};

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
        let id = git(root, &["rev-parse", "--verify", "HEAD^{commit}"], "").await?.trim().to_owned();
        let tree = git(root, &["ls-tree", "-r", "-z", "HEAD", "--", "."], "").await?;
        let committed = committed(&tree);
        let is_missing = |path: &&str| root.join(path).symlink_metadata().is_err();
        let mut is_equal = tree.len() < LONG && !committed.keys().any(&is_missing);
        let mut files = Vec::new();
        for entry in listing.entries() {
            match &entry.kind {
                // Generated, unless it is a configuration without its secrets.
                Kind::Extra(_) if is_missing(&&*entry.path.to_string_lossy()) => {}
                Kind::Directory => {}
                Kind::Link(target) => {
                    let id = git(root, &["hash-object", "--stdin"], &target.to_string_lossy()).await?;
                    is_equal &= committed.get(&*entry.path.to_string_lossy()) == Some(&("120000", id.trim()));
                }
                Kind::Extra(_) | Kind::File(_) => files.push(entry),
            }
        }
        let paths: Vec<_> = files.iter().map(|entry| entry.path.to_string_lossy()).collect();
        is_equal &= !paths.iter().any(|path| path.contains('\n') || path.starts_with('"'));
        if is_equal {
            let hash = ["hash-object", "--no-filters", "--stdin-paths"];
            let ids = git(root, &hash, &(paths.join("\n") + "\n")).await?;
            let mut ids = ids.lines();
            is_equal = files.iter().zip(&paths).all(|(entry, path)| {
                let mode = if entry.mode & 0o111 == 0 { "100644" } else { "100755" };
                ids.next().is_some_and(|id| committed.get(&**path) == Some(&(mode, id)))
            });
        }
        if !is_equal {
            return Err("files of the build context are not committed".to_owned());
        }
        let url = git(root, &["remote", "get-url", "origin"], "").await.ok();
        Ok(Self { id, url: url.and_then(|url| public(url.trim())) })
    }
}

/// Mode and ID of each file in the answer of `git ls-tree`, by path.
fn committed(tree: &str) -> HashMap<&str, (&str, &str)> {
    let entries = tree.split_terminator('\0').filter_map(|line| {
        let (head, path) = line.split_once('\t')?;
        let mut words = head.split(' ');
        Some((path, (words.next()?, words.nth(1)?)))
    });
    entries.collect()
}

/// The answer of git to these arguments; the error is a fragment. This is the only place that starts git, which must run nothing
/// that the repository configures. So no command compares, converts or fetches files, as `status`, `diff` and `checkout` do.
async fn git(directory: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
    let command = Command::new("git", directory)
        .arguments(["--no-pager", "--no-optional-locks"])
        .arguments(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .arguments(arguments)
        // A partial clone fetches missing objects by the commands of its remote.
        .variable("GIT_NO_LAZY_FETCH", "1")
        .variable("GIT_ALLOW_PROTOCOL", "")
        .without("GIT_DIR")
        .without("GIT_WORK_TREE");
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => "git cannot be started".to_owned(),
    };
    let answer = timeout(PATIENCE, child::output_and_errors(&command, input)).await;
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
    use super::*;

    /// A repository whose configuration names programs, and what `Commit::of` says about it as it was committed.
    #[cfg(feature = "system-tests")]
    #[test]
    fn nothing_that_a_repository_configures_is_run() {
        use crate::compiler::manifests::dockerignore::Ignore;
        use crate::context::Context;

        let root = tempfile::TempDir::new().unwrap();
        let path = |name: &str| root.path().join(name);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = |arguments: &[&str]| {
            let arguments = [&["-c", "user.name=a", "-c", "user.email=a@b.c"], arguments].concat();
            let command = Command::new("git", root.path()).arguments(arguments);
            let (status, _, errors) = runtime.block_on(child::output_and_errors(&command, "")).unwrap();
            assert_eq!(status, Status::Code(0), "{errors}");
        };
        run(&["init", "-q"]);
        std::fs::create_dir(path("sub")).unwrap();
        for name in ["a.py", "sub/b.txt", ".gitattributes"] {
            std::fs::write(path(name), "* filter=x diff=x\n").unwrap();
        }
        run(&["add", "."]);
        run(&["commit", "-q", "-m", "a"]);
        let mark = path(".git/mark");
        let touch = format!("touch {}", mark.display());
        for key in [
            "filter.x.process",
            "filter.x.clean",
            "filter.x.smudge",
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.alternateRefsCommand",
            "diff.external",
            "diff.x.textconv",
            "diff.x.command",
            "credential.helper",
            "remote.origin.uploadpack",
            "gpg.program",
        ] {
            run(&["config", key, &touch]);
        }
        run(&["config", "remote.origin.url", &format!("ext::sh -c {touch}% ")]);
        run(&["config", "protocol.ext.allow", "always"]);
        run(&["config", "remote.origin.promisor", "true"]);
        run(&["config", "remote.origin.partialclonefilter", "blob:none"]);
        for hook in ["post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"] {
            let hook = path(".git/hooks").join(hook);
            std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
            std::fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
            let command = Command::new("chmod", root.path()).argument("+x").argument(&hook);
            runtime.block_on(child::output_and_errors(&command, "")).unwrap();
        }
        // Other times than those of the index.
        std::fs::write(path("a.py"), "* filter=x diff=x\n").unwrap();
        let ignore = Ignore::parse(".git").unwrap();
        let (extra, configurations) = (Vec::new(), Vec::new());
        let context = Context { root: root.path().to_owned(), ignore, extra, configurations };
        let commit = || runtime.block_on(Commit::of(root.path(), &context.list().unwrap()));
        assert_eq!(commit().unwrap().id.len(), 40);
        for (name, content) in [("a.py", "other"), ("new.txt", ""), ("sub/b.txt", "")] {
            let before = std::fs::read(path(name)).ok();
            std::fs::write(path(name), content).unwrap();
            assert!(commit().unwrap_err().contains("not committed"), "{name}");
            match before {
                Some(before) => std::fs::write(path(name), before).unwrap(),
                None => std::fs::remove_file(path(name)).unwrap(),
            }
        }
        std::fs::rename(path("sub/b.txt"), path("sub/c.txt")).unwrap();
        assert!(commit().unwrap_err().contains("not committed"));
        // The tree is missing, as in a partial clone.
        std::fs::rename(path(".git/objects"), path(".git/gone")).unwrap();
        std::fs::create_dir(path(".git/objects")).unwrap();
        assert!(commit().is_err());
        assert!(!mark.exists());
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
