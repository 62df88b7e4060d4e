//! Repositories: fetched with the git of this machine. Those that the operator lists for the tenant are fetched with the
//! operator's credentials, all others as anybody on the internet could.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::sleep;
use url::Host;

use agentcli::api::wire::LogLevel;
use agentcli::child::{self, Command};
use agentcli::compiler::files::Files as _;
use agentcli::project::{self, Boundary, DiskFiles};

use crate::net::address;

use super::code_host::{self, RepositoryAccess};
use super::{LogSink, tree};

/// The protocols by which listed repositories are fetched: neither from the files of this machine nor by its programs.
const PROTOCOLS: &str = "https:http:ssh";

/// The protocols by which all others are fetched: ssh always has an identity.
const ANONYMOUS_PROTOCOLS: &str = "https:http";

/// The oldest git that connects to given addresses.
const OLDEST_PINNED: (u32, u32) = (2, 37);

/// A file without content, and a directory without files.
const NOTHING: &str = "/dev/null";

/// Variables that hand identities, settings and programs of the operator to git.
const OF_OPERATOR: &[&str] = &[
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_COMMON_DIR",
    "GIT_CURL_VERBOSE",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CERT",
    "GIT_SSL_CERT_PASSWORD_PROTECTED",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "NETRC",
    "SSH_AUTH_SOCK",
    "XDG_CONFIG_HOME",
];

/// Time that a fetch may take.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Interval at which the size of a fetched tree is checked.
const INTERVAL: Duration = Duration::from_millis(500);

/// Settings of git: a transfer of less than 1,000 bytes a second for a minute fails, and a redirect, to a host that was not
/// checked.
const SETTINGS: [&str; 6] =
    ["-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60", "-c", "http.followRedirects=false"];

/// A commit of a repository.
pub(super) struct Remote<'a> {
    /// URL of the repository.
    pub(super) url: &'a str,
    /// The branch or tag.
    pub(super) reference: &'a str,
    /// The commit, if it need not be the newest one.
    pub(super) commit: Option<&'a str>,
    /// How it is fetched.
    pub(super) access: RepositoryAccess,
}

/// How git fetches.
struct Git<'a> {
    root: &'a Path,
    /// The URL as git gets it.
    url: String,
    access: RepositoryAccess,
    /// The addresses that git connects to, for curl; empty if the URL has an address itself, or any will do.
    pinned: String,
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
        let git = Git::new(root, self.url, self.access).await?;
        let name = self.full_name(&git).await?;
        git.run(&["init", "--quiet", "--template="]).await?;
        git.fetch_object(&name).await?;
        let mut commit = git.run(&["rev-parse", "FETCH_HEAD^{commit}"]).await?;
        if let Some(wanted) = self.commit.filter(|wanted| *wanted != commit) {
            git.fetch_object(wanted).await?;
            wanted.clone_into(&mut commit);
        }
        git.run(&["checkout", "--quiet", "--detach", &commit]).await?;
        Ok(commit)
    }

    /// The full name of the branch or tag, as the repository has it. A branch takes precedence.
    async fn full_name(&self, git: &Git<'_>) -> Result<String, String> {
        let reference = self.reference;
        let names = if reference.starts_with("refs/") {
            vec![reference.to_owned()]
        } else {
            vec![format!("refs/heads/{reference}"), format!("refs/tags/{reference}")]
        };
        let known = ["ls-remote", "--quiet", "--refs", "--", &git.url].into_iter();
        let known: Vec<&str> = known.chain(names.iter().map(String::as_str)).collect();
        let known = git.run(&known).await?;
        let is_known =
            |name: &&String| known.lines().any(|line| line.split('\t').nth(1) == Some(name.as_str()));
        let missing = || format!("{} has no branch or tag `{reference}`", self.url);
        names.iter().find(is_known).cloned().ok_or_else(missing)
    }
}

impl<'a> Git<'a> {
    /// Prepares to fetch from `url`. The error is a fragment.
    async fn new(root: &'a Path, url: &str, access: RepositoryAccess) -> Result<Self, String> {
        let printed = code_host::printed(url)
            .map_err(|reason| format!("cannot fetch {}: the URL must {reason}", url.escape_debug()))?;
        let mut git = Self { root, url: printed, access, pinned: String::new() };
        if access == RepositoryAccess::Private {
            return Ok(git);
        }
        let is_http = git.url.starts_with("http");
        if access == RepositoryAccess::Anonymous && !is_http {
            return Err(format!(
                "{url} is fetched with credentials, and the operator does not list it for you in --repositories"
            ));
        }
        let pinned = public_addresses(&git.url, access).await?;
        // ssh connects by itself.
        if !is_http {
            return Ok(git);
        }
        if !is_recent(&git.run(&["version"]).await?) {
            let (major, minor) = OLDEST_PINNED;
            return Err(format!(
                "{url} needs git {major}.{minor} or later on the host, or a private record in --repositories"
            ));
        }
        git.pinned = pinned;
        Ok(git)
    }

    async fn fetch_object(&self, name: &str) -> Result<(), String> {
        let fetch =
            ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", &self.url, name];
        self.run(&fetch).await.map(drop)
    }

    /// Runs git; returns its output. The error is a fragment.
    async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let git = self.command(arguments);
        let done = child::output_and_errors(&git, "").await;
        let (status, stdout, stderr) = done.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "cannot fetch the repository: git is not installed on the host".to_owned()
            }
            _ => format!("cannot run git: {}", project::reason(&error)),
        })?;
        if !status.is_success() {
            // Tenants read it, and do not need the directory of the build.
            let is_listed = self.access != RepositoryAccess::Anonymous;
            let reason = reason(&stderr, is_listed).replace(&*self.root.to_string_lossy(), ".");
            return Err(format!("git {} failed: {reason}", arguments.first().unwrap_or(&"")));
        }
        Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git", self.root)
            .arguments(SETTINGS)
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
        if !self.pinned.is_empty() {
            // The addresses that were checked: a second lookup could find others.
            git = git.argument("-c").argument(format!("http.curloptResolve={}", self.pinned));
        }
        git = match self.access {
            RepositoryAccess::Anonymous => anonymous(git),
            RepositoryAccess::Listed | RepositoryAccess::Private => {
                git.variable("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            }
        };
        git.arguments(arguments)
    }
}

/// Git without the identity and the settings of the operator.
fn anonymous(git: Command) -> Command {
    let git = git.argument("-c").argument("credential.helper=");
    let git = OF_OPERATOR.iter().fold(git, |git, name| git.without(name));
    git.variable("GIT_ALLOW_PROTOCOL", ANONYMOUS_PROTOCOLS)
        .variable("GIT_CONFIG_NOSYSTEM", "1")
        .variable("GIT_CONFIG_SYSTEM", NOTHING)
        .variable("GIT_CONFIG_GLOBAL", NOTHING)
        // Where curl looks for .netrc.
        .variable("HOME", NOTHING)
}

/// `HOST:PORT:ADDRESSES` of a printed URL, for curl; empty if the host is an address itself. The error is a fragment: an address
/// is one of this machine or its network.
async fn public_addresses(url: &str, access: RepositoryAccess) -> Result<String, String> {
    let private = || {
        let way = match access {
            RepositoryAccess::Anonymous => "the operator does not list it for you",
            _ => "its record in --repositories is not `\"private\": true`",
        };
        format!("cannot fetch {url}: its address is not public, and {way}")
    };
    let found = code_host::host(url);
    let (name, port) = match &found {
        Some((Host::Domain(name), port)) => (name.as_str(), *port),
        Some((Host::Ipv4(address), _)) if address::is_public((*address).into()) => return Ok(String::new()),
        Some((Host::Ipv6(address), _)) if address::is_public((*address).into()) => return Ok(String::new()),
        _ => return Err(private()),
    };
    let found = lookup_host((name, port)).await;
    let found = found.map_err(|error| format!("cannot look up {name}: {}", project::reason(&error)))?;
    let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    if addresses.is_empty() || !addresses.iter().all(|address| address::is_public(*address)) {
        return Err(private());
    }
    let text = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let addresses: Vec<String> = addresses.iter().map(text).collect();
    Ok(format!("{name}:{port}:{}", addresses.join(",")))
}

/// Whether git of `version`, such as `git version 2.39.5`, connects to given addresses.
fn is_recent(version: &str) -> bool {
    let numbers = version.split_whitespace().nth(2).unwrap_or_default();
    let mut numbers = numbers.split('.').map_while(|part| part.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|version| version >= OLDEST_PINNED)
}

/// The reason in the messages of git, without credentials that its settings put into URLs.
fn reason(stderr: &str, is_listed: bool) -> String {
    let refused = ["terminal prompts disabled", "could not read Username", "Authentication failed"];
    if refused.iter().any(|text| stderr.contains(text)) {
        let reason = if is_listed {
            "the repository needs credentials that the git of the host does not have"
        } else {
            "the repository needs credentials, and the operator does not list it for you in --repositories"
        };
        return reason.to_owned();
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
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

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
            assert_eq!(reason(stderr, true), expected);
        }
    }

    /// A server that wants credentials, and the ones that it gets.
    fn asking() -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (url, got) = (
            format!("http://{}/a.git", listener.local_addr().unwrap()),
            Arc::<Mutex<Vec<String>>>::default(),
        );
        let kept = got.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head = lines.take_while(|line| !line.is_empty());
                kept.lock()
                    .unwrap()
                    .extend(head.filter(|line| line.to_lowercase().starts_with("authorization")));
                let refused = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\
                               Connection: close\r\n\r\n";
                stream.write_all(refused.as_bytes()).ok();
            }
        });
        (url, got)
    }

    #[tokio::test]
    async fn credentials_of_the_operator_are_for_listed_repositories() {
        let home = tempfile::tempdir().unwrap();
        let helper = "[credential]\n\thelper = \"!f() { echo username=a; echo password=b; }; f\"\n";
        let netrc = "machine 127.0.0.1 login a password b\n";
        for (name, text) in [(".gitconfig", helper), (".netrc", netrc)] {
            let path = home.path().join(name);
            std::fs::write(&path, text).unwrap();
            let operator = Command::new("git", home.path())
                .variable("HOME", home.path().to_string_lossy())
                .variable("GIT_TERMINAL_PROMPT", "0");
            let (url, got) = asking();
            let ask = ["ls-remote", "--", &url];
            for (git, is_listed) in [(anonymous(operator.clone()), false), (operator, true)] {
                let (status, ..) = child::output_and_errors(&git.arguments(ask), "").await.unwrap();
                assert!(!status.is_success());
                assert_eq!(!got.lock().unwrap().is_empty(), is_listed, "{name}");
            }
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn only_git_that_connects_to_given_addresses_is_recent() {
        for version in ["git version 2.37.0", "git version 2.47.3 (Apple Git-1)", "git version 3.0"] {
            assert!(is_recent(version), "{version}");
        }
        for version in ["git version 2.36.9", "git version 1.99.0", "git", ""] {
            assert!(!is_recent(version), "{version}");
        }
    }

    #[tokio::test]
    async fn addresses_of_this_machine_and_its_network_are_refused() {
        for url in [
            "http://127.0.0.1:8080/a.git",
            "http://localhost/a.git",
            "http://LOCALHOST./a.git",
            "http://2130706433/a.git",
            "http://0x7f.1/a.git",
            "http://[::1]/a.git",
            "http://[::ffff:10.0.0.1]/a.git",
            "https://169.254.169.254/a.git",
            "https://192.168.0.1/a.git",
            "ssh://git@127.0.0.1/a.git",
            "ssh://git@2130706433/a.git",
            "git@localhost:a.git",
        ] {
            let printed = code_host::printed(url).unwrap();
            for access in [RepositoryAccess::Anonymous, RepositoryAccess::Listed] {
                let reason = public_addresses(&printed, access).await.unwrap_err();
                let is_expected =
                    reason.contains("its address is not public") || reason.contains("cannot look up");
                assert!(is_expected, "{url}: {reason}");
            }
        }
        for url in ["https://[2606:4700::1111]/a", "http://8.8.8.8:8080/a", "ssh://git@8.8.8.8/a"] {
            let found = public_addresses(&code_host::printed(url).unwrap(), RepositoryAccess::Listed).await;
            assert_eq!(found.as_deref(), Ok(""), "{url}");
        }
    }

    /// A proxy of git that answers nothing: the lines that it gets first.
    fn proxy() -> (String, std::sync::mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let line = lines.next().unwrap_or_default();
                // All of the head, so that the connection is not reset.
                lines.find(String::is_empty);
                sender.send(line).ok();
                stream
                    .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .ok();
            }
        });
        (url, lines)
    }

    /// What git asks for is what was checked. AGENTCLI_TEST_MUTATIONS is the number of mutated URLs.
    #[test]
    fn git_understands_printed_urls_in_the_same_way() {
        const PARTS: &[&str] = &[
            "\\",
            "@",
            ":",
            "/",
            "//",
            "..",
            "%2e",
            "%2F",
            "%5c",
            "%00",
            "#",
            "?",
            "[::1]",
            "127.0.0.1",
            "0x7f.1",
            "\t",
            "é",
            "::",
            "ext::",
            "%40",
            ";",
            "&",
            "'",
            "*",
            "~",
            "_",
            "-",
            ".",
            "80",
            "443",
            "user",
            "codehost.example",
            "\u{ff0f}",
        ];
        let is_long = std::env::var_os("AGENTCLI_TEST_LONG").is_some();
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let mut random = fastrand::Rng::with_seed(number("PROPTEST_RNG_SEED").unwrap_or(61));
        let (proxy, lines) = proxy();
        let home = tempfile::tempdir().unwrap();
        let (count, mut asked) =
            (number("AGENTCLI_TEST_MUTATIONS").unwrap_or(if is_long { 4000 } else { 400 }), 0);
        for at in 0..count {
            let seeds =
                ["http://codehost.example/acme/agent", "http://127.0.0.1:8080/a.git", "http://[::1]:1/a/b/"];
            let mut url = seeds[random.usize(..seeds.len())].to_owned();
            for _ in 0..random.usize(1..5) {
                let places: Vec<usize> = url.char_indices().map(|(at, _)| at).filter(|at| *at >= 7).collect();
                let place = places[random.usize(..places.len())];
                url.insert_str(place, PARTS[random.usize(..PARTS.len())]);
            }
            let Ok(printed) = code_host::printed(&url) else { continue };
            let parsed = url::Url::parse(&url).unwrap();
            asked += 1;
            let mut git = std::process::Command::new("git");
            let done = git
                .args(["-c", &format!("http.proxy={proxy}"), "ls-remote", "--", &printed])
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", home.path())
                .output()
                .unwrap();
            let line = lines.try_iter().next().unwrap_or_default();
            let base = url::Url::parse(line.split(' ').nth(1).unwrap_or_default());
            let errors = String::from_utf8_lossy(&done.stderr);
            let base = base
                .unwrap_or_else(|_| panic!("{at}: {url:?} is {printed}, and git asks {line:?}: {errors}"));
            let path = parsed.path();
            let path = format!("{}/info/refs", path.strip_suffix('/').unwrap_or(path));
            assert_eq!(
                (base.host_str(), base.port_or_known_default(), base.path()),
                (parsed.host_str(), parsed.port_or_known_default(), &*path),
                "{at}: {url:?} is {printed}, and git asks {line:?}"
            );
        }
        assert!(asked > count / 20, "{asked} of {count}");
    }
}
