//! `agentcli build --no-engine` with registries of other kinds: tokens, TLS of a private authority, uploads in parts.

use std::fs;

use super::Copy;
use super::push::Stage;
use crate::engine::{hosts_for, try_docker};
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry};

/// A project whose image is in a registry.
struct Pushed {
    stage: Stage,
    registry: Registry,
    base: String,
}

impl Pushed {
    /// Adds a file that cannot be compressed, of `size` bytes; the arguments that push the image, with a new source.
    fn replace(&self, address: &str, repository: &str, size: usize) -> String {
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(size).collect();
        fs::write(self.stage.copy.directory.path().join("data"), bytes).unwrap();
        let base = &self.base;
        format!(
            "build --no-engine --push -t {address}/{repository} --base-image {base} --from {address}/agent:1"
        )
    }

    fn digest(&self, repository: &str, tag: &str) -> Option<String> {
        self.registry.digest(repository, tag)
    }
}

#[test]
fn registries_with_tokens_private_authorities_and_lost_connections() {
    let host = hosts_for("registries of other kinds").remove(0);
    let registry = Registry::start();
    let [by_token, by_tls, of_another] = [
        Registry::start_with_tokens_beside(&registry),
        Registry::start_with_tls(&registry),
        Registry::start_with_tls(&registry),
    ];
    let proxy = Proxy::start(registry.address.parse().unwrap());
    let through = proxy.address().to_string();
    let addresses = [&registry.address, &by_token.address, &by_tls.address, &through];
    let stage = Stage::with_registries(Copy::of("hello"), &host, &addresses.map(String::as_str), PASSWORD);
    // All of them have the images of the first one.
    let base = stage.push_base(&registry);
    let image = format!("{}/agent:1", registry.address);
    let built = stage.run(&format!("build --no-pull --push -t {image} --base-image {base}"));
    assert_eq!(built.code, 0, "{}", built.err);
    for name in [&base, &image] {
        try_docker(&host, &["rmi", name]).unwrap();
    }
    let pushed = Pushed { stage, registry, base };
    tokens(&pushed, &by_token);
    private_authority(&pushed, &by_tls, &of_another);
    lost_connections(&pushed, &proxy, &through);
}

fn tokens(pushed: &Pushed, registry: &Registry) {
    let address = &registry.address;
    // For another repository, the token needs scopes for both.
    for repository in ["agent", "other"] {
        let replaced = pushed.stage.alone(&pushed.replace(address, &format!("{repository}:token"), 9));
        assert_eq!(replaced.code, 0, "{repository}: {}", replaced.err);
        let digest = registry.digest(repository, "token").unwrap();
        assert_eq!(replaced.out, format!("{address}/{repository}@{digest}\n"));
    }
    let wrong = Stage::new(Copy::of("hello"), &pushed.stage.host, address, "no-password-of-it");
    let wrong = wrong.alone(&pushed.replace(address, "agent:wrong", 9));
    assert_eq!(wrong.code, 3, "{}", wrong.err);
    assert!(wrong.err.contains("docker login") && !wrong.err.contains("no-password-of-it"), "{}", wrong.err);
    assert_eq!(pushed.digest("agent", "wrong"), None);
}

fn private_authority(pushed: &Pushed, registry: &Registry, of_another: &Registry) {
    let line = pushed.replace(&registry.address, "agent:tls", 9);
    let arguments: Vec<&str> = line.split(' ').collect();
    let run =
        |trusted: &Registry| pushed.stage.alone_trusting(trusted.certificate.as_deref().unwrap(), &arguments);
    let refused = run(of_another);
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains("certificate") && refused.err.contains("SSL_CERT_FILE"), "{}", refused.err);
    assert!(!refused.err.contains("trying again") && !refused.err.contains(PASSWORD), "{}", refused.err);
    assert_eq!(pushed.digest("agent", "tls"), None);
    let replaced = run(registry);
    assert_eq!(replaced.code, 0, "{}", replaced.err);
    assert!(pushed.digest("agent", "tls").is_some());
}

fn lost_connections(pushed: &Pushed, proxy: &Proxy, through: &str) {
    let uploads = "/agent/blobs/uploads/";
    let count = |method| proxy.forwarded(method, uploads);
    // The layer has two parts and a rest, the configuration is small. This registry forgets an upload of which it took a part
    // without being able to say so.
    for (number, (method, fault, starts, parts)) in [
        ("PATCH", Fault::Lost, 3, 3),
        ("PATCH", Fault::ResetInRequest, 3, 2),
        ("PUT", Fault::ResetInRequest, 2, 2),
        ("PUT", Fault::BUSY, 2, 2),
    ]
    .into_iter()
    .enumerate()
    {
        let tag = format!("part{number}");
        let line = pushed.replace(through, &format!("agent:{tag}"), 10 << 20);
        let before = (count("POST"), count("PATCH"));
        proxy.fail(method, uploads, fault.clone(), 1);
        let replaced = pushed.stage.alone(&line);
        proxy.mend();
        assert_eq!(replaced.code, 0, "{method} {fault:?}: {}", replaced.err);
        assert_eq!(replaced.err.matches("; trying again in 1 s").count(), 1, "{}", replaced.err);
        let counts = (count("POST") - before.0, count("PATCH") - before.1);
        assert_eq!(counts, (starts, parts), "{method} {fault:?}: {}", replaced.err);
        assert!(pushed.digest("agent", &tag).is_some());
    }
}
