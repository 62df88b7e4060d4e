//! Finding an engine.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use agentcli::engine::{Engine, EngineEnv, Error};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{env, hosts, wait};
use crate::harness::free_port;

fn connect(env: &EngineEnv) -> Result<String, Error> {
    wait(Engine::connect(env)).map(|engine| engine.host().to_owned())
}

fn socket(host: &str) -> PathBuf {
    PathBuf::from(host.strip_prefix("unix://").expect("the test engines listen on Unix sockets"))
}

#[test]
fn docker_host() {
    for host in hosts() {
        assert_eq!(connect(&env(&host)).unwrap(), host);
    }
}

#[test]
fn the_environment_by_name() {
    let vars = |name: &str| -> Option<OsString> {
        let value = match name {
            "DOCKER_HOST" => "tcp://h:1",
            "DOCKER_TLS_VERIFY" => "1",
            "DOCKER_CONTEXT" => "",
            "HOME" => "/home/me",
            "XDG_RUNTIME_DIR" => "/run/user/7",
            "PATH" => "/bin",
            _ => return None,
        };
        Some(value.into())
    };
    let env = EngineEnv::new(vars);
    assert_eq!(
        (env.host.as_deref(), env.context.as_deref(), env.tls_verify),
        (Some("tcp://h:1"), None, true)
    );
    assert_eq!(env.config, Some(PathBuf::from("/home/me/.docker")));
    let sockets = [
        "/var/run/docker.sock",
        "/run/user/7/docker.sock",
        "/home/me/.docker/run/docker.sock",
        "/run/user/7/podman/podman.sock",
        "/run/podman/podman.sock",
    ];
    assert_eq!(env.sockets, sockets.map(PathBuf::from));
}

#[test]
fn a_docker_context() {
    let host = hosts().remove(0);
    let dir = TempDir::new().unwrap();
    let id = hex::encode(Sha256::digest("mine"));
    let meta = dir.path().join("contexts/meta").join(id);
    fs::create_dir_all(&meta).unwrap();
    let text = format!(r#"{{"Name":"mine","Metadata":{{}},"Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#);
    fs::write(meta.join("meta.json"), text).unwrap();

    let config = Some(dir.path().to_owned());
    let named =
        EngineEnv { context: Some("mine".to_owned()), config: config.clone(), ..EngineEnv::default() };
    assert_eq!(connect(&named).unwrap(), host);

    let configured = EngineEnv { config: config.clone(), ..EngineEnv::default() };
    fs::write(dir.path().join("config.json"), r#"{"auths":{},"currentContext":"mine"}"#).unwrap();
    assert_eq!(connect(&configured).unwrap(), host);

    let unknown = EngineEnv { context: Some("yours".to_owned()), config, ..EngineEnv::default() };
    let error = connect(&unknown).unwrap_err();
    assert_eq!(error.to_string(), "the Docker context `yours` does not exist, or has no engine");
    assert!(error.hint().unwrap().contains("docker context ls"));

    fs::write(dir.path().join("config.json"), "{\"currentContext\": 7 \"secret\"}").unwrap();
    let error = connect(&configured).unwrap_err();
    assert!(matches!(&error, Error::Config { path, .. } if path.ends_with("config.json")), "{error}");
    assert!(!error.to_string().contains("secret"));
}

#[test]
fn the_first_socket_that_answers() {
    let host = hosts().remove(0);
    let dir = TempDir::new().unwrap();
    let stale = dir.path().join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    let missing = dir.path().join("missing.sock");
    let env =
        EngineEnv { sockets: vec![missing.clone(), stale.clone(), socket(&host)], ..EngineEnv::default() };
    assert_eq!(connect(&env).unwrap(), host);

    let env = EngineEnv { sockets: vec![missing.clone(), stale.clone()], ..EngineEnv::default() };
    let error = connect(&env).unwrap_err();
    let expected =
        format!("no container engine found at unix://{}, unix://{}", missing.display(), stale.display());
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().unwrap().contains("DOCKER_HOST"));
}

#[test]
fn what_does_not_listen_or_is_no_engine() {
    let error = connect(&env("unix:///nowhere/docker.sock")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot connect to the container engine at `unix:///nowhere/docker.sock`: no such socket"
    );
    let error = connect(&env(&format!("tcp://127.0.0.1:{}", free_port()))).unwrap_err();
    assert!(error.to_string().ends_with("`: connection refused"), "{error}");

    let (registry, _seen) = super::fake::registry();
    let error = connect(&env(&format!("tcp://{registry}"))).unwrap_err();
    assert!(error.to_string().contains("it is not a container engine (status 401)"), "{error}");
}

#[test]
fn an_engine_that_is_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let start = Instant::now();
    let error = connect(&env(&format!("tcp://{}", listener.local_addr().unwrap()))).unwrap_err();
    assert!(error.to_string().ends_with("` did not respond within 5 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// Root may use every socket, so the test starts itself again as nobody.
#[test]
fn a_socket_that_one_may_not_use() {
    const SOCKET: &str = "AGENTCLI_TEST_DENIED_SOCKET";
    if let Ok(host) = std::env::var(SOCKET) {
        let error = connect(&env(&host)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot connect to the container engine at `{host}`: permission denied")
        );
        assert!(error.hint().unwrap().contains("docker group"));
        return;
    }
    let dir = TempDir::new().unwrap();
    let (socket, program) = (dir.path().join("denied.sock"), dir.path().join("test"));
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(&program)
        .args(["--exact", "engine::connect::a_socket_that_one_may_not_use"])
        .env(SOCKET, format!("unix://{}", socket.display()))
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .output()
        .expect("the tests run as root");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[test]
fn what_is_not_supported() {
    let error = connect(&env("ssh://me@there")).unwrap_err();
    assert!(error.to_string().contains("connections over ssh are not supported"));
    assert!(error.hint().unwrap().contains("ssh -nNT -L"));
    let error = connect(&env("gopher://there")).unwrap_err();
    assert!(error.hint().unwrap().contains("unix://"), "{error}");
}

#[test]
fn tls() {
    let dir = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut secure = env(&format!("tcp://{}", listener.local_addr().unwrap()));
    secure.tls_verify = true;
    secure.cert_path = Some(dir.path().to_owned());
    let error = connect(&secure).unwrap_err();
    let expected = format!("`{}` is missing", dir.path().join("key.pem").display());
    assert!(matches!(&error, Error::Tls { reason, .. } if *reason == expected), "{error}");
    assert!(error.hint().unwrap().contains("DOCKER_CERT_PATH"));

    // Files that hold no certificate, and a server that speaks no TLS.
    for name in ["key.pem", "cert.pem", "ca.pem"] {
        fs::write(dir.path().join(name), "nothing").unwrap();
    }
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = connect(&secure).unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
}
