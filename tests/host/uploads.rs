//! Archives: asked for, put, checked.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use std::{fs, thread};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::service::{Answer, Host, PATIENCE};
use super::{created, messages};

/// A tar.gz with these files, all of them empty.
fn archive(paths: &[&str]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for path in paths {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, &b""[..]).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// A tar.gz that is much smaller than the name in it.
fn long_name(length: u64) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(length);
    header.set_cksum();
    builder.append(&header, std::io::Read::take(std::io::repeat(b'x'), length)).unwrap();
    builder.into_inner().unwrap().finish().unwrap()
}

fn place(host: &Host, id: &str) -> Value {
    let path = format!("/v2/deployments/{id}/upload-url");
    host.expect(200, "POST", &path, Some(&json!({ "supports_upload_headers": true })))
}

fn put(host: &Host, url: &str, bytes: Vec<u8>) -> Answer {
    host.send("PUT", url, &[], Some(("application/gzip", bytes))).unwrap()
}

fn built(host: &Host, id: &str, object: &Value) -> String {
    let patch = json!({
        "revision_source": "internal_source",
        "source_revision_config": { "source_tarball_path": object, "graph_config_path": "app/agent.json" },
    });
    let path = format!("/v2/deployments/{id}");
    let patched = host.expect(200, "PATCH", &path, Some(&patch));
    format!("{path}/revisions/{}", patched["latest_revision_id"].as_str().unwrap())
}

#[test]
fn an_archive_is_received_and_built() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let place = place(&host, &id);
    assert_eq!(place["upload_headers"], json!({ "content-type": "application/gzip" }));
    let url = place["upload_url"].as_str().unwrap();
    // The first attempt may break off, or be of something else.
    assert_eq!(put(&host, url, archive(&["old"])).status, 200);
    assert_eq!(put(&host, url, archive(&["app/agent.json", "app/a.py"])).status, 200);
    let revision = built(&host, &id, &place["object_path"]);
    let done = host.until(&revision, |it| it["status"] == "DEPLOYED");
    assert_eq!(done["source"], "internal_source");
    let log = host.expect(200, "GET", &format!("{revision}/logs?type=build"), None);
    assert!(messages(&log).contains(&"received 2 files, 0 bytes, with app/agent.json"), "{log}");
    let again = host.expect(200, "POST", &format!("{revision}/redeploy"), None);
    assert_eq!(again["source_revision_config"]["source_tarball_path"], place["object_path"]);
}

#[test]
fn an_archive_that_is_none_fails_the_build() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    for (bytes, expected) in [
        (b"not an archive".to_vec(), "cannot be read as a tar.gz"),
        (archive(&["agent.json"]), "does not hold the configuration, `app/agent.json`"),
        (archive(&["app/agent.json", "../outside"]), "`../outside` leaves the root"),
        (long_name(16 << 20), "a record about an entry has 16777216 bytes"),
    ] {
        let place = place(&host, &id);
        assert_eq!(put(&host, place["upload_url"].as_str().unwrap(), bytes).status, 200);
        let revision = built(&host, &id, &place["object_path"]);
        host.until(&revision, |it| it["status"] == "BUILD_FAILED");
        let path = revision.replace("/v2/deployments/", "/v1/projects/") + "/build_logs";
        let log = host.expect(200, "POST", &path, Some(&json!({ "order": "desc", "limit": 1 })));
        assert!(messages(&log)[0].contains(expected), "{log}");
    }
}

#[test]
fn the_archive_of_what_is_deployed_stays() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let upload = || {
        let place = place(&host, &id);
        let bytes = archive(&["app/agent.json"]);
        assert_eq!(put(&host, place["upload_url"].as_str().unwrap(), bytes).status, 200);
        place
    };
    let old = upload();
    let revision = built(&host, &id, &upload()["object_path"]);
    host.until(&revision, |it| it["status"] == "DEPLOYED");
    // Attempts that end before anything is put.
    let first = place(&host, &id);
    for _ in 0..6 {
        place(&host, &id);
    }
    let late = put(&host, first["upload_url"].as_str().unwrap(), archive(&["app/agent.json"]));
    assert_eq!(late.status, 403, "{}", late.text);
    host.until(&built(&host, &id, &old["object_path"]), |it| it["status"] == "DEPLOYED");
    // Archives that nothing is made of.
    let first = upload();
    for _ in 0..6 {
        upload();
    }
    host.until(&built(&host, &id, &old["object_path"]), |it| it["status"] == "DEPLOYED");
    let gone = json!({ "revision_source": "internal_source",
        "source_revision_config": { "source_tarball_path": first["object_path"], "graph_config_path": "app/agent.json" } });
    let answer = host.expect(400, "PATCH", &format!("/v2/deployments/{id}"), Some(&gone));
    assert!(answer["detail"].as_str().unwrap().contains("not an object_path of this deployment"), "{answer}");
}

#[test]
fn uploads_have_limits() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let place = place(&host, &id);
    let url = place["upload_url"].as_str().unwrap();
    let patch = json!({
        "revision_source": "internal_source",
        "source_revision_config": { "source_tarball_path": place["object_path"], "graph_config_path": "agent.json" },
    });
    let early = host.expect(400, "PATCH", &format!("/v2/deployments/{id}"), Some(&patch));
    assert!(early["detail"].as_str().unwrap().contains("nothing was uploaded to it"), "{early}");
    let (address, token) = url.split_once("token=").unwrap();
    for wrong in [address.to_owned(), format!("{address}token=0{}", &token[1..]), format!("{url}0")] {
        if wrong != url {
            assert_eq!(put(&host, &wrong, archive(&["agent.json"])).status, 403, "{wrong}");
        }
    }
    let text = host.send("PUT", url, &[], Some(("text/plain", b"x".to_vec()))).unwrap();
    assert_eq!(text.status, 415, "{}", text.text);
    let large = raw(&host, url, "Content-Length: 209715201\r\n");
    assert!(large.starts_with("HTTP/1.1 413") && large.contains("209715200"), "{large}");
    let endless = raw(&host, url, "Transfer-Encoding: chunked\r\n");
    assert!(endless.starts_with("HTTP/1.1 411"), "{endless}");
    // Another deployment's archive is not for this one.
    assert_eq!(put(&host, url, archive(&["app/agent.json"])).status, 200);
    let other = created(&host, "other");
    let stolen = host.expect(400, "PATCH", &format!("/v2/deployments/{other}"), Some(&patch));
    assert!(stolen["detail"].as_str().unwrap().contains("not an object_path of this deployment"), "{stolen}");
}

/// Only the head of an upload; what is answered.
fn raw(host: &Host, url: &str, header: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(host.address()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let path = url.strip_prefix(&host.url()).unwrap();
    write!(stream, "PUT {path} HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8(answer).unwrap()
}

/// A client that tries again does not wait for its first attempt, and one URL takes the room of one archive.
#[test]
fn newer_upload_to_a_url_ends_the_older_one() {
    let host = Host::start(|_| {});
    let id = created(&host, "app");
    let place = place(&host, &id);
    let url = place["upload_url"].as_str().unwrap();
    let target = url.strip_prefix(&host.url()).unwrap();
    let mut first = TcpStream::connect(host.address()).unwrap();
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    let head =
        format!("PUT {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\nx");
    first.write_all(head.as_bytes()).unwrap();
    let files = || fs::read_dir(host.data().join("uploads")).unwrap().count();
    let deadline = Instant::now() + PATIENCE;
    while files() == 0 {
        assert!(Instant::now() < deadline, "the first upload does not begin");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(put(&host, url, archive(&["app/agent.json"])).status, 200);
    let mut answer = String::new();
    first.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 409 ") && answer.contains("Another upload to this URL began."),
        "{answer}"
    );
    assert_eq!(files(), 1);
    host.until(&built(&host, &id, &place["object_path"]), |it| it["status"] == "DEPLOYED");
}

/// The archives of a deleted deployment are removed; one that is being received is not.
#[test]
fn an_upload_goes_on_while_another_deployment_is_removed() {
    let host = Host::start(|_| {});
    let (kept, deleted) = (created(&host, "kept"), created(&host, "deleted"));
    let old = place(&host, &deleted);
    assert_eq!(put(&host, old["upload_url"].as_str().unwrap(), archive(&["old"])).status, 200);
    let new = place(&host, &kept);
    let url = new["upload_url"].as_str().unwrap();
    let target = url.strip_prefix(&host.url()).unwrap();
    let bytes = archive(&["app/agent.json"]);
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    let mut stream = TcpStream::connect(host.address()).unwrap();
    let head = format!(
        "PUT {target} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        host.address(),
        bytes.len()
    );
    stream.write_all(&[head.as_bytes(), first].concat()).unwrap();
    let uploads = host.data().join("uploads");
    let count = || fs::read_dir(&uploads).unwrap().count();
    let wait_for = |expected| {
        let deadline = Instant::now() + PATIENCE;
        while count() != expected {
            assert!(Instant::now() < deadline, "{} files, and not {expected}", count());
            thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(2);
    assert_eq!(host.ask("DELETE", &format!("/v2/deployments/{deleted}"), None).status, 204);
    wait_for(1);
    stream.write_all(rest).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let revision = built(&host, &kept, &new["object_path"]);
    host.until(&revision, |it| it["status"] == "DEPLOYED");
}
