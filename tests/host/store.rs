//! The data directory: what survives, and what is refused without a change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::serve::first_line;
use super::service::{PATIENCE, ended, send};
use super::{creation, image};
use crate::harness::TestEnv;

/// A service as a process of its own.
pub(super) struct Process {
    child: Child,
    pub(super) url: String,
    key: String,
}

fn serve(env: &TestEnv) -> Child {
    let mut command = Command::new(crate::harness::program());
    command
        .args(["host", "serve", "--data", "data", "--listen", "127.0.0.1:0", "--proxy", "127.0.0.1:0"])
        .current_dir(env.path("."));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

impl Process {
    pub(super) fn start(env: &TestEnv) -> Self {
        let key = env.run("host keys create --data data").out.trim().to_owned();
        env.run("host tenants set default deployments=100000 replicas=100000 uploads=100000 --data data");
        let mut child = serve(env);
        let url = first_line(&mut child);
        let url = url.strip_prefix("listening on ").unwrap().split(',').next().unwrap().to_owned();
        Self { child, url, key }
    }

    /// The status and the answer, or nothing if the service was killed meanwhile.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        let answer = send(method, &format!("{}{path}", self.url), &[("X-Api-Key", &self.key)], body);
        answer.ok().map(|answer| (answer.status, answer.json))
    }

    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        ended(self.child, PATIENCE);
    }
}

/// The message of a service that does not start.
fn refused(env: &TestEnv) -> String {
    let output = ended(serve(env), PATIENCE);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    message
}

/// Every answer that was given is true after a kill.
#[test]
fn what_was_answered_survives_kills() {
    let env = TestEnv::empty();
    let mut known: Vec<(String, String)> = Vec::new();
    for round in 0..8_u64 {
        let service = Process::start(&env);
        for (id, revision) in &known {
            let (status, deployment) = service.ask("GET", &format!("/v2/deployments/{id}"), None).unwrap();
            assert_eq!((status, deployment["latest_revision_id"].as_str()), (200, Some(&**revision)));
        }
        let asked = &service;
        let (sender, made) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0.. {
                    let body = creation(&format!("app-{round}-{number}"));
                    let Some((status, deployment)) = asked.ask("POST", "/v2/deployments", Some(&body)) else {
                        return;
                    };
                    assert_eq!(status, 201);
                    let id = deployment["id"].as_str().unwrap().to_owned();
                    let patch = json!({ "source_revision_config": { "image_uri": image('1') } });
                    let path = format!("/v2/deployments/{id}");
                    let Some((status, patched)) = asked.ask("PATCH", &path, Some(&patch)) else { return };
                    assert_eq!(status, 200);
                    sender.send((id, patched["latest_revision_id"].as_str().unwrap().to_owned())).unwrap();
                }
            });
            known.push(made.recv().unwrap());
            std::thread::sleep(Duration::from_millis(60 * round));
            rustix::process::kill_process(
                rustix::process::Pid::from_child(&asked.child),
                rustix::process::Signal::KILL,
            )
            .unwrap();
        });
        known.extend(made.iter());
        service.kill();
    }
}

#[test]
fn a_second_service_is_refused() {
    let env = TestEnv::empty();
    let service = Process::start(&env);
    let message = refused(&env);
    assert!(message.contains("another agentcli host uses it"), "{message}");
    assert_eq!(service.ask("GET", "/v2/deployments", None).unwrap().0, 200);
    service.kill();
}

/// Changes the database, which is refused then and stays as it is.
fn refused_after(change: impl FnOnce(&Path)) -> String {
    let env = TestEnv::empty();
    assert_eq!(env.run("host keys create --data data").code, 0);
    let file = env.path("data/host.db");
    change(&file);
    let before = fs::read(&file).unwrap();
    let message = refused(&env);
    assert_eq!(fs::read(&file).unwrap(), before, "the file was changed");
    message
}

#[test]
fn a_damaged_or_newer_database_is_refused_and_kept() {
    let damaged = refused_after(|file| {
        let mut bytes = fs::read(file).unwrap();
        bytes[..16].fill(b'x');
        fs::write(file, bytes).unwrap();
    });
    assert!(damaged.contains("cannot open the database"), "{damaged}");
    assert!(damaged.contains("file is not a database"), "{damaged}");
    assert!(damaged.contains("restore a copy"), "{damaged}");
    let torn = refused_after(|file| {
        let mut bytes = fs::read(file).unwrap();
        let half = bytes.len() / 2;
        bytes[half..].fill(0xa5);
        fs::write(file, bytes).unwrap();
    });
    assert!(torn.contains("cannot open the database"), "{torn}");
    // The version is at offset 60 of the header, in network byte order.
    let newer = refused_after(|file| {
        let mut bytes = fs::read(file).unwrap();
        bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
        fs::write(file, bytes).unwrap();
    });
    assert!(newer.contains("version 99 of it is newer than this program"), "{newer}");
}

#[test]
fn a_lost_key_is_not_replaced() {
    let env = TestEnv::empty();
    assert_eq!(env.run("host keys create --data data").code, 0);
    fs::remove_file(env.path("data/secret.key")).unwrap();
    let message = refused(&env);
    assert!(message.contains("cannot use the key"), "{message}");
    assert!(!env.path("data/secret.key").exists());
}

/// The files of a data directory.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = |below: &str| fs::read_dir(directory.join(below)).unwrap().map(|entry| entry.unwrap().path());
    let all = files("").chain(files("uploads")).filter(|path| path.is_file());
    all.map(|path| (path.strip_prefix(directory).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

#[test]
fn copies_are_whole_and_damage_is_found() {
    let env = TestEnv::empty();
    let service = Process::start(&env);
    let mut body = creation("app");
    body["secrets"] = json!([{ "name": "TOKEN", "value": "hidden" }]);
    assert_eq!(service.ask("POST", "/v2/deployments", Some(&body)).unwrap().0, 201);
    // An upload in progress.
    fs::write(env.path("data/uploads/.tmp-partial"), "").unwrap();
    let backup = env.run("host backup --data data copy");
    assert_eq!(backup.code, 0, "{}", backup.err);
    let again = env.run("host backup --data data copy");
    assert_eq!(again.code, 1, "{}", again.err);
    service.kill();

    let before = contents(&env.path("copy"));
    assert!(!before.contains_key(Path::new("uploads/.tmp-partial")), "{before:?}");
    assert_eq!(env.run("host restore --data restored copy").code, 0);
    assert_eq!(contents(&env.path("copy")), before);
    let check = env.run("host check --data restored");
    assert_eq!(check.code, 0, "{} {}", check.out, check.err);
    assert!(check.out.starts_with("version 2, 1 deployment, 0 revisions, 1 key\n"), "{}", check.out);
    let none = env.run("host check --data nowhere");
    assert_eq!(none.code, 2, "{}", none.err);
    assert!(none.err.contains("is not a data directory") && !env.path("nowhere").exists(), "{}", none.err);

    fs::write(env.path("restored/secret.key"), [7; 32]).unwrap();
    let check = env.run("host check --data restored");
    assert_eq!(check.code, 1, "{}", check.out);
    assert!(check.out.contains("cannot be decrypted with this secret.key"), "{}", check.out);
}

/// Runs the program with a umask.
#[cfg(unix)]
fn run_with_umask(env: &TestEnv, umask: &str, arguments: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!(r#"umask {umask} && exec "$0" {arguments}"#)]).arg(crate::harness::program());
    let output = shell.current_dir(env.path(".")).output().unwrap();
    assert!(output.status.success(), "{arguments}: {output:?}");
}

/// Fails if another user may do anything with a file or directory; their number.
#[cfg(unix)]
fn check_private(path: &Path) -> usize {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let expected = if path.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(mode, expected, "{}: {mode:o}", path.display());
    if !path.is_dir() {
        return 1;
    }
    1 + fs::read_dir(path).unwrap().map(|entry| check_private(&entry.unwrap().path())).sum::<usize>()
}

#[cfg(unix)]
#[test]
fn data_and_copies_are_private_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    for umask in ["000", "022"] {
        let env = TestEnv::empty();
        run_with_umask(&env, umask, "host keys create --data data");
        fs::write(env.path("data/uploads/archive.tar.gz"), "x").unwrap();
        fs::create_dir(env.path("data/registry/deployment")).unwrap();
        fs::write(env.path("data/registry/deployment/blob"), "x").unwrap();
        fs::write(env.path("data/host.db.1"), "x").unwrap();
        fs::write(env.path("data/something-else"), "x").unwrap();
        // As an older version left it.
        for path in ["data", "data/host.db", "data/uploads", "data/host.db.1"] {
            let mode = if env.path(path).is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(env.path(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        run_with_umask(&env, umask, "host keys list --data data");
        let mode = |path: &str| fs::metadata(env.path(path)).unwrap().permissions().mode() & 0o077;
        assert_ne!(mode("data/something-else"), 0, "a file that is not of the service was changed");
        fs::remove_file(env.path("data/something-else")).unwrap();
        assert!(check_private(&env.path("data")) >= 8);
        run_with_umask(&env, umask, "host backup --data data copy");
        assert!(check_private(&env.path("copy")) >= 5);
        run_with_umask(&env, umask, "host restore --data restored copy");
        assert!(check_private(&env.path("restored")) >= 5);
    }
}

/// Archives are replaced all the time, so that those that a copy of the database names may be gone at once.
#[test]
fn backup_during_writes_has_all_files_that_its_database_names() {
    let env = TestEnv::empty();
    let service = Process::start(&env);
    let ids: Vec<String> = (0..4)
        .map(|number| {
            let mut body = creation(&format!("app-{number}"));
            body["source"] = json!("internal_source");
            let made = service.ask("POST", "/v2/deployments", Some(&body)).unwrap();
            made.1["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let upload = |id: &str, size: usize| {
        let place =
            service.ask("POST", &format!("/v2/deployments/{id}/upload-url"), Some(&json!({}))).unwrap();
        let url = place.1["upload_url"].as_str().unwrap().to_owned();
        let answer = send("PUT", &url, &[], Some(("application/gzip", vec![7; size]))).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    // They take a while to copy.
    (0..5).for_each(|_| upload(&ids[0], 16 << 20));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let uploads = std::sync::atomic::AtomicUsize::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    let copies: Vec<String> = (0..8).map(|number| format!("copy-{number}")).collect();
    std::thread::scope(|scope| {
        for id in &ids[1..] {
            let (upload, is_over, uploads) = (&upload, &is_over, &uploads);
            scope.spawn(move || {
                while !is_over.load(order) {
                    upload(id, 100);
                    uploads.fetch_add(1, order);
                }
            });
        }
        for copy in &copies {
            let before = uploads.load(order);
            let deadline = std::time::Instant::now() + PATIENCE;
            while uploads.load(order) < before + 20 && std::time::Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            let backup = env.run(&format!("host backup --data data {copy}"));
            if backup.code != 0 {
                is_over.store(true, order);
            }
            assert_eq!(backup.code, 0, "{}", backup.err);
        }
        is_over.store(true, order);
    });
    service.kill();
    for copy in &copies {
        let check = env.run(&format!("host check --data {copy}"));
        assert_eq!(check.code, 0, "{copy}: {}", check.out);
    }
}
