//! `agentcli build --no-engine` with registries of other kinds: tokens, TLS of a private authority, uploads in parts.

use std::fs;
use std::path::Path;

use super::Copy;
use super::push::Stage;
use crate::engine::{hosts_for, try_docker};
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry};

const BASE: &str = "langchain/langgraph-api:3.11";

/// Pushes the base image, and the first image with an engine; returns the options of builds on them.
fn first(stage: &Stage, registry: &Registry) -> String {
    let (base, image) = (format!("{}/base:1", registry.address), format!("{}/agent:1", registry.address));
    stage.docker(&stage.host, &["tag", BASE, &base]);
    stage.docker(&stage.host, &["push", "-q", &base]);
    let built = stage.run(&format!("build --no-pull --push -t {image} --base-image {base}"));
    assert_eq!(built.code, 0, "{}", built.err);
    for name in [&base, &image] {
        try_docker(&stage.host, &["rmi", name]).unwrap();
    }
    format!("--base-image {base} --from {image}")
}

fn edit(stage: &Stage) {
    fs::write(stage.copy.directory.path().join("fresh"), fastrand::u64(..).to_string()).unwrap();
}

#[test]
fn a_registry_with_tokens() {
    let registry = Registry::start_with_tokens();
    for host in hosts_for("a registry with tokens") {
        let stage = Stage::new(Copy::of("hello"), &host, &registry.address, PASSWORD);
        let options = first(&stage, &registry);
        edit(&stage);
        // Of another repository: its token has to allow both.
        for repository in ["agent", "other"] {
            let image = format!("{}/{repository}:2", registry.address);
            let replaced = stage.alone(&format!("build --no-engine --push -t {image} {options}"));
            assert_eq!(replaced.code, 0, "{repository}: {}", replaced.err);
            let digest = registry.digest(repository, "2").unwrap();
            assert_eq!(replaced.out, format!("{}/{repository}@{digest}\n", registry.address));
        }
        let wrong = Stage::new(Copy::of("hello"), &host, &registry.address, "no-password-of-it");
        let wrong =
            wrong.alone(&format!("build --no-engine --push -t {}/agent:3 {options}", registry.address));
        assert_eq!(wrong.code, 3, "{}", wrong.err);
        assert!(
            wrong.err.contains("docker login") && !wrong.err.contains("no-password-of-it"),
            "{}",
            wrong.err
        );
        assert_eq!(registry.digest("agent", "3"), None);
    }
}

#[test]
fn a_registry_with_a_certificate_of_a_private_authority() {
    let registry = Registry::start_with_tls();
    for host in hosts_for("a registry with TLS") {
        let stage = Stage::new(Copy::of("hello"), &host, &registry.address, PASSWORD);
        let options = first(&stage, &registry);
        edit(&stage);
        let line = format!("build --no-engine --push -t {}/agent:2 {options}", registry.address);
        let arguments: Vec<&str> = line.split(' ').collect();
        let others = Registry::start_with_tls();
        let refused = stage.alone_trusting(others.certificate.as_deref().unwrap(), &arguments);
        assert_eq!(refused.code, 1, "{}", refused.err);
        assert!(
            refused.err.contains("certificate") && refused.err.contains("SSL_CERT_FILE"),
            "{}",
            refused.err
        );
        assert!(!refused.err.contains("trying again") && !refused.err.contains(PASSWORD), "{}", refused.err);
        assert_eq!(registry.digest("agent", "2"), None);
        let replaced = stage.alone_trusting(registry.certificate.as_deref().unwrap(), &arguments);
        assert_eq!(replaced.code, 0, "{}", replaced.err);
        assert!(registry.digest("agent", "2").is_some());
    }
}

/// Writes a file that cannot be compressed.
fn incompressible(path: &Path, megabytes: usize) {
    let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(megabytes << 20).collect();
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_upload_goes_on_where_it_broke_off() {
    let registry = Registry::start();
    let proxy = Proxy::start(registry.address.parse().unwrap());
    let through = proxy.address().to_string();
    let host = hosts_for("an upload that breaks off").remove(0);
    let addresses = [registry.address.as_str(), &through];
    let stage = Stage::with_registries(Copy::of("hello"), &host, &addresses, PASSWORD);
    let options = first(&stage, &registry)
        .replace(&format!("--from {}", registry.address), &format!("--from {through}"));
    let uploads = "/agent/blobs/uploads/";
    let mut tag = 1;
    // This registry forgets an upload of which it took a part without being able to say so.
    for (method, fault, starts, parts) in [
        ("PATCH", Fault::Lost, 3, 3),
        ("PATCH", Fault::ResetInRequest, 3, 2),
        ("PUT", Fault::ResetInRequest, 2, 2),
        ("PUT", Fault::BUSY, 2, 2),
    ] {
        incompressible(&stage.copy.directory.path().join("data"), 10);
        tag += 1;
        let before = |method| proxy.forwarded(method, uploads);
        let (started, sent) = (before("POST"), before("PATCH"));
        proxy.fail(method, uploads, fault.clone(), 1);
        let image = format!("{through}/agent:{tag}");
        let replaced = stage.alone(&format!("build --no-engine --push -t {image} {options}"));
        proxy.mend();
        assert_eq!(replaced.code, 0, "{method} {fault:?}: {}", replaced.err);
        assert_eq!(replaced.err.matches("; trying again in 1 s").count(), 1, "{}", replaced.err);
        let counts = (before("POST") - started, before("PATCH") - sent);
        assert_eq!(counts, (starts, parts), "{method} {fault:?}: {}", replaced.err);
        assert!(registry.digest("agent", &tag.to_string()).is_some());
    }
}
