//! Repositories: fetched with the git of this machine, which has the credentials.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use agentcli::api::wire::LogLevel;
use agentcli::child::{self, Command};
use agentcli::compiler::files::Files as _;
use agentcli::project::{self, Boundary, DiskFiles};

use super::{LogSink, tree};

/// The protocols by which repositories are fetched: neither from the files of this machine nor by its programs.
const PROTOCOLS: &str = "https:http:ssh";

/// Time that a fetch may take.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Interval at which the size of a fetched tree is checked.
const INTERVAL: Duration = Duration::from_millis(500);

/// Settings of git: a transfer of less than 1,000 bytes a second for a minute fails.
const SETTINGS: [&str; 4] = ["-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"];

/// A commit of a repository.
pub(super) struct Remote<'a> {
    /// URL of the repository.
    pub(super) url: &'a str,
    /// The branch or tag.
    pub(super) reference: &'a str,
    /// The commit, if it need not be the newest one.
    pub(super) commit: Option<&'a str>,
}

/// Fetches a commit into `root`, at most `limit` bytes with the objects of git; returns its hash. The error is a fragment.
pub(super) async fn fetch(
    remote: &Remote<'_>,
    root: &Path,
    limit: u64,
    log: &LogSink,
) -> Result<String, String> {
    log(LogLevel::Info, &format!("fetching {} of {}", remote.reference, remote.url));
    let too_large = || format!("{} is larger than {} MiB", remote.url, limit >> 20);
    let commit = tokio::select! {
        fetched = remote.fetch(root) => fetched?,
        () = grown(root, limit) => return Err(too_large()),
        () = sleep(TIME_LIMIT) => {
            let minutes = TIME_LIMIT.as_secs() / 60;
            return Err(format!("git does not fetch {} within {minutes} minutes", remote.url));
        }
    };
    if tree::size(root) > limit {
        return Err(too_large());
    }
    log(LogLevel::Info, &format!("commit {commit}"));
    if root.join(".gitmodules").exists() {
        log(LogLevel::Warning, "submodules are not fetched; their directories are empty");
    }
    if has_large_files(root) {
        log(LogLevel::Warning, "files of Git LFS are not fetched; the build has pointers to them");
    }
    Ok(commit)
}

/// Waits until `root` has more than `limit` bytes.
async fn grown(root: &Path, limit: u64) {
    loop {
        sleep(INTERVAL).await;
        let root = root.to_owned();
        let size = tokio::task::spawn_blocking(move || tree::size(&root)).await;
        if size.is_ok_and(|size| size > limit) {
            return;
        }
    }
}

fn has_large_files(root: &Path) -> bool {
    let files = DiskFiles::within(root, Boundary::Directory(root));
    files.text(".gitattributes").is_some_and(|text| text.contains("filter=lfs"))
}

impl Remote<'_> {
    async fn fetch(&self, root: &Path) -> Result<String, String> {
        let name = self.full_name(root).await?;
        run(root, &["init", "--quiet", "--template="]).await?;
        self.fetch_object(root, &name).await?;
        let mut commit = run(root, &["rev-parse", "FETCH_HEAD^{commit}"]).await?;
        if let Some(wanted) = self.commit.filter(|wanted| *wanted != commit) {
            self.fetch_object(root, wanted).await?;
            wanted.clone_into(&mut commit);
        }
        run(root, &["checkout", "--quiet", "--detach", &commit]).await?;
        Ok(commit)
    }

    async fn fetch_object(&self, root: &Path, name: &str) -> Result<(), String> {
        let fetch =
            ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", self.url, name];
        run(root, &fetch).await.map(drop)
    }

    /// The full name of the branch or tag, as the repository has it. A branch takes precedence.
    async fn full_name(&self, root: &Path) -> Result<String, String> {
        let reference = self.reference;
        let names = match reference.starts_with("refs/") {
            true => vec![reference.to_owned()],
            false => vec![format!("refs/heads/{reference}"), format!("refs/tags/{reference}")],
        };
        let known = ["ls-remote", "--quiet", "--refs", "--", self.url].into_iter();
        let known: Vec<&str> = known.chain(names.iter().map(String::as_str)).collect();
        let known = run(root, &known).await?;
        let is_known =
            |name: &&String| known.lines().any(|line| line.split('\t').nth(1) == Some(name.as_str()));
        let missing = || format!("{} has no branch or tag `{reference}`", self.url);
        names.iter().find(is_known).cloned().ok_or_else(missing)
    }
}

/// Runs git; returns its output. The error is a fragment.
async fn run(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut git = Command::new("git", root)
        .arguments(SETTINGS)
        .arguments(arguments)
        .variable("GIT_ALLOW_PROTOCOL", PROTOCOLS)
        // Nobody is asked for credentials, and nothing else is downloaded.
        .variable("GIT_TERMINAL_PROMPT", "0")
        .variable("GIT_ASKPASS", "")
        .variable("SSH_ASKPASS", "false")
        .variable("SSH_ASKPASS_REQUIRE", "force")
        .variable("GIT_LFS_SKIP_SMUDGE", "1")
        .variable("LC_ALL", "C");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS"] {
        git = git.without(name);
    }
    let done = child::output_and_errors(&git, "").await;
    let (status, stdout, stderr) = done.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "cannot fetch the repository: git is not installed on the host".to_owned(),
        _ => format!("cannot run git: {}", project::reason(&error)),
    })?;
    if !status.is_success() {
        return Err(format!("git {} failed: {}", arguments.first().unwrap_or(&""), reason(&stderr)));
    }
    Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
}

/// The reason in the messages of git, without credentials that its settings put into URLs.
fn reason(stderr: &str) -> String {
    let refused = ["terminal prompts disabled", "could not read Username", "Authentication failed"];
    if refused.iter().any(|text| stderr.contains(text)) {
        return "the repository needs credentials that the git of the host does not have".to_owned();
    }
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().rfind(|line| line.starts_with("fatal: "));
    let line = fatal.or_else(|| lines().next_back()).unwrap_or("it says nothing");
    without_credentials(line.trim_start_matches("fatal: "))
}

/// `text` without what is before an `@` in a URL.
fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', ' ', '\'', '"']).unwrap_or(part.len());
        let start = part[..end].rfind('@').map_or(0, |at| at + 1);
        clean.push_str("://");
        clean.push_str(&part[start..]);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_credentials() {
        for (stderr, expected) in [
            (
                "remote: x\nfatal: unable to access 'https://me:token@a.example/b/': no\n",
                "unable to access 'https://a.example/b/': no",
            ),
            (
                "fatal: could not read Username for 'http://a': terminal prompts disabled\n",
                "the repository needs credentials that the git of the host does not have",
            ),
            ("", "it says nothing"),
            (
                "Host key verification failed.\nfatal: Could not read from remote repository.\n\nPlease\n",
                "Could not read from remote repository.",
            ),
        ] {
            assert_eq!(reason(stderr), expected);
        }
    }
}
