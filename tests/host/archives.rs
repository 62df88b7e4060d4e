//! The archives that ended the service for all tenants, or reached directories beside the source, sent to a running one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tar::EntryType::{self, Directory, GNULongLink, GNULongName, Link, Regular, Symlink, XHeader};

use super::creation;
use super::serve::first_line;
use super::service::{PATIENCE, send};
use crate::engine::hosts;
use crate::harness::{TestEnv, program};

type Builder = tar::Builder<GzEncoder<Vec<u8>>>;

/// A service as a process, which ends when this is dropped.
struct Service {
    child: Child,
    url: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Service {
    fn start(env: &TestEnv, engine: &str) -> Self {
        let mut command = Command::new(program());
        command
            .args("host serve --data data --listen 127.0.0.1:0 --proxy 127.0.0.1:0 --json".split(' '))
            .current_dir(env.path("."))
            .env("DOCKER_HOST", engine)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let ready: Value = serde_json::from_str(&first_line(&mut child)).unwrap();
        Self { child, url: ready["url"].as_str().unwrap().to_owned() }
    }

    fn ask(&self, key: &str, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        let url = format!("{}{path}", self.url);
        let answer = send(method, &url, &[("X-Api-Key", key)], body);
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.text);
        answer.json
    }

    /// Sends an archive, and waits until the build of it has failed; the path of the revision, and its log.
    fn build(&self, key: &str, deployment: &str, archive: Vec<u8>) -> (String, String) {
        let path = format!("/v2/deployments/{deployment}");
        let place = self.ask(key, "POST", &format!("{path}/upload-url"), Some(&json!({})));
        let sent =
            send("PUT", place["upload_url"].as_str().unwrap(), &[], Some(("application/gzip", archive)));
        assert_eq!(sent.unwrap().status, 200);
        let patch = json!({
            "revision_source": "internal_source",
            "source_revision_config": { "source_tarball_path": place["object_path"], "graph_config_path": "agent.json" },
        });
        let patched = self.ask(key, "PATCH", &path, Some(&patch));
        let revision = format!("{path}/revisions/{}", patched["latest_revision_id"].as_str().unwrap());
        let deadline = Instant::now() + PATIENCE;
        while self.ask(key, "GET", &revision, None)["status"] != "BUILD_FAILED" {
            assert!(Instant::now() < deadline, "the build does not end");
            thread::sleep(Duration::from_millis(20));
        }
        let log = self.ask(key, "GET", &format!("{revision}/logs?type=build"), None).to_string();
        (revision, log)
    }
}

/// A tar.gz with these entries after a configuration whose graph is missing, so that nothing is built of it.
fn archive(fill: impl FnOnce(&mut Builder)) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let config = r#"{"dependencies": ["."], "graphs": {"a": "./missing.py:graph"}}"#;
    add(&mut builder, Regular, "agent.json", "", config.as_bytes());
    add(&mut builder, Regular, "agent.py", "", b"");
    fill(&mut builder);
    builder.into_inner().unwrap().finish().unwrap()
}

fn add(builder: &mut Builder, kind: EntryType, path: &str, target: &str, bytes: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(if kind == Directory { 0o777 } else { 0o644 });
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

/// A line of a PAX record.
fn pax(pair: &str) -> String {
    let length = |digits: usize| pair.len() + digits + 2;
    let digits = (1..9).find(|digits| length(*digits).to_string().len() == *digits).unwrap();
    format!("{} {pair}\n", length(digits))
}

/// A line that only a reader finds that splits a comment at its newline.
fn hidden(pair: &str) -> String {
    pax(&format!("comment=x\n{}", pax(pair)))
}

/// The tree of the review, 17,100 levels deep: nine directories of 1,900 levels, each below a link to the end of the last.
fn deep(builder: &mut Builder, line: fn(&str) -> String) {
    let levels = "a/".repeat(1900);
    let mut entry = |kind, path: &str, pair: &str| {
        add(builder, XHeader, "././@PaxHeader", "", line(pair).as_bytes());
        add(builder, kind, path, if kind == Symlink { "agent.py" } else { "" }, b"");
    };
    entry(Directory, "h0/", &format!("path={levels}"));
    for at in 1..=8 {
        let before = if at == 1 { levels.clone() } else { format!("l{}/{levels}", at - 1) };
        entry(Symlink, &format!("l{at}"), &format!("linkpath={before}"));
        entry(Directory, &format!("h{at}/"), &format!("path=l{at}/{levels}"));
    }
}

/// A link out of the source, and directories below it, by names that only another reader finds.
fn outside(builder: &mut Builder, line: fn(&str) -> String, outside: &str) {
    for (kind, path, pair) in [
        (Symlink, "evil", format!("linkpath={outside}")),
        (Directory, "harmless/", "path=evil/".to_owned()),
        (Directory, "other/", "path=evil/made/by/tenant/".to_owned()),
        // And no trace of it.
        (Regular, "file", "path=evil".to_owned()),
    ] {
        add(builder, XHeader, "././@PaxHeader", "", line(&pair).as_bytes());
        add(builder, kind, path, if kind == Symlink { "agent.py" } else { "" }, b"");
    }
}

#[test]
fn archives_that_ended_the_service_end_one_build() {
    let engine = hosts().remove(0);
    let env = TestEnv::empty().file("outside/file", "of others");
    let beside = env.path("outside");
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o700)).unwrap();
    let target = beside.to_str().unwrap();
    let keys = ["default", "others"].map(|tenant| {
        let created = env.run(&format!("host keys create --tenant {tenant} --data data"));
        created.out.trim().to_owned()
    });
    let service = Service::start(&env, &engine);
    let made = service.ask(&keys[0], "POST", "/v2/deployments", Some(&creation("app")));
    let deployment = made["id"].as_str().unwrap();
    let untouched = |service: &Service, what: &str| {
        assert_eq!(fs::metadata(&beside).unwrap().permissions().mode() & 0o7777, 0o700, "{what}");
        assert_eq!(fs::read_dir(&beside).unwrap().count(), 1, "{what}");
        // It answers the other tenant, too.
        let list = service.ask(&keys[1], "GET", "/v2/deployments", None);
        assert_eq!(list["resources"], json!([]), "{what}");
    };
    let long = "a/".repeat(60);
    let mut last = String::new();
    for (what, archive, expected) in [
        ("the tree of the review", archive(|it| deep(it, hidden)), "received"),
        ("the same without a comment", archive(|it| deep(it, pax)), "has more than 2048 bytes"),
        (
            "the same by long names of GNU",
            archive(|it| {
                add(it, GNULongName, "././@LongLink", "", format!("{}\0", "a/".repeat(1900)).as_bytes());
                add(it, Directory, "h0/", "", b"");
            }),
            "has more than 2048 bytes",
        ),
        (
            "deep names below a link",
            archive(|it| {
                add(it, Directory, &"a/".repeat(40), "", b"");
                add(it, GNULongLink, "././@LongLink", "", format!("{long}\0").as_bytes());
                add(it, Symlink, "l", "x", b"");
                add(it, XHeader, "././@PaxHeader", "", pax(&format!("path=l/{long}")).as_bytes());
                add(it, Directory, "d/", "", b"");
            }),
            "cannot unpack `l/a/a/",
        ),
        ("the outer link of the review", archive(|it| outside(it, hidden, target)), "received"),
        (
            "the same without a comment",
            archive(|it| outside(it, pax, target)),
            "cannot unpack `evil` of the archive",
        ),
        (
            "a hard link through an outer link",
            archive(|it| {
                add(it, Symlink, "evil", target, b"");
                add(it, Link, "stolen", "evil/file", b"");
            }),
            "cannot unpack `stolen` of the archive",
        ),
        (
            "an outer link",
            archive(|it| {
                add(it, Symlink, "one", target, b"");
                add(it, Symlink, "two", "one", b"");
            }),
            "is a link out of the source",
        ),
    ] {
        let (revision, log) = service.build(&keys[0], deployment, archive);
        assert!(log.contains(expected), "{what}: {log}");
        assert!(!log.contains("tree-"), "{what}: {log}");
        untouched(&service, what);
        last = revision;
    }
    // Killed and started again, it does not build one of them once more, and leaves nothing.
    drop(service);
    let service = Service::start(&env, &engine);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(service.ask(&keys[0], "GET", &last, None)["status"], "BUILD_FAILED");
    untouched(&service, "started again");
    let left = |directory: &Path| fs::read_dir(directory).map_or(0, Iterator::count);
    assert_eq!(left(&env.path("data/build")), 0);
}
