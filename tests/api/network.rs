//! What is between the program and the service: certificates, and proxies of the environment. The program runs as a
//! process, as it is its environment that counts.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::{Scene, quiet};
use crate::harness::Output;
use crate::host::service::KEY;
use crate::proxy::{Proxy, nobody};

/// An address that nobody answers at but a proxy.
const ELSEWHERE: &str = "deployments.invalid";

/// Runs `agentcli deploy list` for the service at `url` in this environment, and no other proxy of the machine's.
fn list(url: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(crate::harness::program());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.args(["deploy", "list", "-v", "--host-url", url]).env("AGENT_HOST_API_KEY", KEY);
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    quiet(command.output().unwrap().into())
}

/// A service with no deployments that shows a certificate which it made itself.
struct Secure {
    address: SocketAddr,
    directory: TempDir,
    /// What came through.
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Secure {
    fn start() -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let directory = TempDir::new().unwrap();
        let openssl = |arguments: &str| {
            let mut command = Command::new("openssl");
            let output = command.args(arguments.split(' ')).current_dir(directory.path()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        let names = "[req]\ndistinguished_name = name\nprompt = no\nx509_extensions = extensions\n[name]\nCN = test\n\
                     [extensions]\nsubjectAltName = IP:127.0.0.1\nbasicConstraints = critical, CA:FALSE\n";
        fs::write(directory.path().join("names"), names).unwrap();
        openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -config names -keyout key.pem -out cert.pem",
        );
        openssl("x509 -in cert.pem -outform DER -out cert");
        openssl("pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key");
        let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
        let key = PrivateKeyDer::try_from(read("key")).unwrap();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![CertificateDer::from(read("cert"))], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, heard) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let (config, to) = (Arc::new(config), heard.clone());
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
                let mut piece = [0; 4096];
                let read = stream.read(&mut piece).unwrap_or(0);
                to.lock().unwrap().extend(&piece[..read]);
                let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 29\r\n\
                              Connection: close\r\n\r\n{\"resources\":[],\"offset\":0}  ";
                stream.write_all(answer.as_bytes()).ok();
                stream.conn.send_close_notify();
                stream.flush().ok();
            }
        });
        Self { address, directory, heard }
    }

    fn heard(&self) -> String {
        String::from_utf8(self.heard.lock().unwrap().clone()).unwrap()
    }
}

#[test]
fn the_key_goes_to_nobody_whose_certificate_is_not_trusted() {
    let service = Secure::start();
    let url = format!("https://{}", service.address);
    let output = list(&url, &[]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.contains(&format!("`{url}`")), "{output:?}");
    assert!(output.err.contains("certificate") && output.err.contains("SSL_CERT_FILE"), "{output:?}");
    assert!(!output.err.contains("retrying"), "{output:?}");
    assert_eq!(service.heard(), "", "something is sent");
    // Another name than the certificate has.
    let trusted = service.directory.path().join("cert.pem");
    let trusted = [("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let output = list(&format!("https://localhost:{}", service.address.port()), &trusted);
    assert_eq!((output.code, service.heard()), (1, String::new()), "{output:?}");
    // What the hint says helps.
    let output = list(&url, &trusted);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(service.heard().contains(KEY), "{}", service.heard());
}

#[test]
fn a_service_that_speaks_no_tls() {
    let scene = Scene::new();
    let output = list(&format!("https://{}", scene.proxy.address()), &[]);
    assert!(matches!(output.code, 1 | 4), "{output:?}");
    assert!(output.err.contains("hint: "), "{output:?}");
    assert!(!scene.proxy.heads().iter().any(|head| head.contains(KEY)));
}

#[test]
fn proxies_of_the_environment_are_used() {
    let scene = Scene::new();
    let proxy = scene.proxy.url();
    let asked = || scene.proxy.forwarded("GET", &format!("http://{ELSEWHERE}/v2/deployments?"));
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let before = asked();
        let output = list(&format!("http://{ELSEWHERE}"), &[(name, &proxy)]);
        assert_eq!(output.code, 0, "{name}: {output:?}");
        assert!(output.out.contains("agent") && asked() > before, "{name}: {output:?}");
    }
    // Only the address is asked of it, and there is nothing to send the key to.
    let (_socket, address) = nobody();
    let other = Proxy::start(address);
    let output = list(&format!("https://{ELSEWHERE}"), &[("HTTPS_PROXY", &other.url())]);
    assert_eq!(output.code, 4, "{output:?}");
    let heads = other.heads();
    assert!(!heads.is_empty() && heads.iter().all(|it| it.starts_with(&format!("CONNECT {ELSEWHERE}:443 "))));
    assert!(!heads.iter().any(|head| head.contains(KEY)), "{heads:?}");
}

#[test]
fn some_addresses_are_asked_without_a_proxy() {
    let scene = Scene::new();
    let proxy = Proxy::start(scene.host.address());
    let url = proxy.url();
    // A service on this machine.
    assert_eq!(list(&scene.proxy.url(), &[("ALL_PROXY", &url), ("HTTP_PROXY", &url)]).code, 0);
    let output = list(&format!("http://{ELSEWHERE}"), &[("HTTP_PROXY", &url), ("NO_PROXY", ELSEWHERE)]);
    assert_eq!(output.code, 4, "{output:?}");
    assert_eq!(proxy.heads(), Vec::<String>::new());
}
