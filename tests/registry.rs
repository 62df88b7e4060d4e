//! An image registry of a test's own: Debian's docker-registry as a child process, on a port that the system chooses,
//! where everybody needs a password. Both test engines share the machine's network, so 127.0.0.1 is the same for them.

mod base;
mod token;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use token::{ISSUER, SERVICE, Tokens};

use crate::harness::{PATIENCE, lines};

/// Who may use it.
pub(crate) const USER: &str = "pusher";

/// The password, made to be found wherever it should not be.
pub(crate) const PASSWORD: &str = "registry~password>9c1f";

/// A registry; it ends with this value, and what was pushed to it goes, too.
pub(crate) struct Registry {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    /// Who hands out its tokens, where it takes nothing else.
    tokens: Option<Tokens>,
    /// The file of its certificate, if it has one.
    pub(crate) certificate: Option<PathBuf>,
    images: Arc<dyn AsRef<Path> + Send + Sync>,
    _directory: TempDir,
}

/// How a registry is protected.
#[derive(Default)]
struct Security {
    /// As its configuration names it.
    auth: String,
    tokens: Option<Tokens>,
    certificate: Option<PathBuf>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Registry {
    /// One that takes the password itself.
    pub(crate) fn start() -> Self {
        Self::start_with(Arc::new(TempDir::new().unwrap()), passwords)
    }

    /// The same with TLS and a certificate that nobody else has signed, and the images of `other`.
    pub(crate) fn start_with_tls(other: &Self) -> Self {
        Self::start_with(other.images.clone(), |directory| {
            let (pair, names) = (KeyPair::generate().unwrap(), ["127.0.0.1".to_owned()]);
            let made = CertificateParams::new(names).unwrap().self_signed(&pair).unwrap();
            let certificate = directory.join("cert.pem");
            fs::write(&certificate, made.pem()).unwrap();
            fs::write(directory.join("key.pem"), pair.serialize_pem()).unwrap();
            Security { certificate: Some(certificate), ..passwords(directory) }
        })
    }

    /// One that takes everything from everybody.
    pub(crate) fn start_open() -> Self {
        Self::start_with(Arc::new(TempDir::new().unwrap()), |_| Security::default())
    }

    /// One that takes tokens, which are handed out elsewhere for the password.
    pub(crate) fn start_with_tokens() -> Self {
        Self::start_with(Arc::new(TempDir::new().unwrap()), tokens)
    }

    /// The same with the images of `other`.
    pub(crate) fn start_with_tokens_beside(other: &Self) -> Self {
        Self::start_with(other.images.clone(), tokens)
    }

    /// One with these images, and the security that a function puts into a directory.
    fn start_with(
        images: Arc<dyn AsRef<Path> + Send + Sync>,
        security: impl FnOnce(&Path) -> Security,
    ) -> Self {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        let Security { auth, tokens, certificate } = security(directory.path());
        let tls = certificate.as_ref().map_or_else(String::new, |certificate| {
            format!(", tls: {{certificate: {}, key: {}}}", certificate.display(), path("key.pem").display())
        });
        let storage = (*images).as_ref().display();
        let config = format!(
            "version: 0.1\nlog: {{accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {storage}}}}}\n\
             http: {{addr: '127.0.0.1:0'{tls}}}\nauth: {{{auth}}}\n"
        );
        fs::write(path("config.yml"), config).unwrap();
        let mut child = Command::new("docker-registry")
            .arg("serve")
            .arg(path("config.yml"))
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("docker-registry is installed by tests/engine/install");
        let address = address(child.stderr.take().unwrap());
        Self { child, address, tokens, certificate, images, _directory: directory }
    }

    /// The directory of its images.
    pub(crate) fn images(&self) -> &Path {
        (*self.images).as_ref()
    }

    /// The digest that the registry gives for `repository:reference`; nothing where there is no such image.
    pub(crate) fn digest(&self, repository: &str, reference: &str) -> Option<String> {
        let head = self.ask("-sfI", repository, &format!("manifests/{reference}"));
        let head = String::from_utf8(head).unwrap();
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut digests = lines.filter(|(name, _)| name.eq_ignore_ascii_case("docker-content-digest"));
        digests.next().map(|(_, digest)| digest.to_owned())
    }

    /// What the registry has at `path` of `repository`, such as `manifests/1`; empty if it has nothing there.
    pub(crate) fn get(&self, repository: &str, path: &str) -> Vec<u8> {
        self.ask("-sf", repository, path)
    }

    /// Puts a blob into a registry without tokens; returns its digest.
    pub(crate) fn put_blob(&self, repository: &str, content: &str) -> String {
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(content)));
        let uploads = format!("http://{}/v2/{repository}/blobs/uploads/", self.address);
        let started =
            self.curl(&["-X", "POST", "-d", "", "-o", "/dev/null", "-w", "%header{location}", &uploads], "");
        let location = String::from_utf8(started).unwrap();
        let separator = if location.contains('?') { '&' } else { '?' };
        let url = format!("{location}{separator}digest={digest}");
        let kind = "Content-Type: application/octet-stream";
        self.curl(&["-X", "PUT", "-H", kind, "--data-binary", "@-", &url], content);
        digest
    }

    /// Puts a manifest under a tag into a registry without tokens.
    pub(crate) fn put_manifest(&self, repository: &str, tag: &str, media_type: &str, manifest: &str) {
        let url = format!("http://{}/v2/{repository}/manifests/{tag}", self.address);
        let kind = format!("Content-Type: {media_type}");
        self.curl(&["-X", "PUT", "-H", &kind, "--data-binary", "@-", &url], manifest);
    }

    /// The output of curl with `input`, as the user.
    fn curl(&self, arguments: &[&str], input: &str) -> Vec<u8> {
        let mut command = Command::new("curl");
        command.args(["-sSf", "-m", "60", "-u", &format!("{USER}:{PASSWORD}")]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "curl {arguments:?}");
        output.stdout
    }

    fn ask(&self, kind: &str, repository: &str, path: &str) -> Vec<u8> {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/v2/{repository}/{path}", self.address);
        let accept = "Accept: application/vnd.docker.distribution.manifest.v2+json, \
                      application/vnd.docker.distribution.manifest.list.v2+json, \
                      application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
        let (option, login) = match &self.tokens {
            None => ("-u", format!("{USER}:{PASSWORD}")),
            Some(tokens) => (
                "-H",
                format!("Authorization: Bearer {}", tokens.token(&[format!("repository:{repository}:pull")])),
            ),
        };
        let arguments = [kind, "-k", "-m", "60", option, &login, "-H", accept, &url];
        Command::new("curl").args(arguments).output().unwrap().stdout
    }
}

/// Users with passwords, in a file of `directory`.
fn passwords(directory: &Path) -> Security {
    let users = directory.join("htpasswd");
    fs::write(&users, format!("{USER}:{}\n", hash(PASSWORD))).unwrap();
    Security { auth: format!("htpasswd: {{realm: test, path: {}}}", users.display()), ..Security::default() }
}

/// Tokens, whose key is in `directory`.
fn tokens(directory: &Path) -> Security {
    let tokens = Tokens::start(directory);
    let (address, certificate) = (tokens.address, tokens.certificate.display());
    let auth = format!(
        "token: {{realm: 'http://{address}/token', service: {SERVICE}, issuer: {ISSUER}, rootcertbundle: {certificate}}}"
    );
    Security { auth, tokens: Some(tokens), certificate: None }
}

/// The password as the registry wants it: bcrypt, which the C library knows.
fn hash(password: &str) -> String {
    let script = "print crypt($ARGV[0], '$2y$05$abcdefghijklmnopqrstuu')";
    let output = Command::new("perl").args(["-e", script, password]).output().unwrap();
    let hash = String::from_utf8(output.stdout).unwrap();
    assert!(hash.starts_with("$2y$05$"), "{hash}");
    hash
}

/// The address that the registry says it listens on.
fn address(log: ChildStderr) -> String {
    let lines = lines(log);
    loop {
        let line = lines.recv_timeout(PATIENCE).expect("the registry does not start");
        if let Some((_, rest)) = line.split_once("listening on ") {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
            return rest[..end.unwrap_or(rest.len())].to_owned();
        }
    }
}
