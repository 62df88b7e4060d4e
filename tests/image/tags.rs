//! `agentcli build --no-engine` without `--from`: the image of the repository to start from.

use std::fs;

use super::Copy;
use super::push::Stage;
use crate::engine::{BASE, hosts_for, try_docker};
use crate::harness::Output;
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry};

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

const LIST: &str = "/agent/tags/list";

/// A repository with images that differ in a label, behind a proxy.
struct Repository {
    stage: Stage,
    proxy: Proxy,
    /// The options of all builds.
    options: String,
}

impl Repository {
    fn name(&self, tag: &str) -> String {
        format!("{}/agent:{tag}", self.proxy.address())
    }

    fn edit(&self) {
        fs::write(self.stage.copy.directory.path().join("data"), fastrand::u64(..).to_string()).unwrap();
    }

    /// Builds and pushes an image with this label.
    fn push(&self, tag: &str, label: &str) {
        self.edit();
        let line = format!("build --no-pull --push -t {} {} --label x={label}", self.name(tag), self.options);
        let built = self.stage.run(&line);
        assert_eq!(built.code, 0, "{}", built.err);
    }

    /// Edits the source, and builds without an engine.
    fn replace(&self, tag: &str, label: &str) -> Output {
        self.edit();
        self.stage.alone(&format!(
            "build --no-engine --push -t {} {} --label x={label}",
            self.name(tag),
            self.options
        ))
    }

    /// The numbers of lists and of manifests of the repository that `run` asks for.
    fn asked(&self, run: impl FnOnce() -> Output) -> (Output, usize, usize) {
        let count = || [LIST, "/agent/manifests/"].map(|path| self.proxy.forwarded("GET", path));
        let before = count();
        let output = run();
        let after = count();
        // The first request is answered with a demand for the password.
        (output, after[0] - before[0], after[1] - before[1] - 1)
    }

    fn refused(&self, tag: &str, label: &str, why: &str) {
        let refused = self.replace(tag, label);
        assert_eq!(refused.code, 1, "{}", refused.err);
        assert!(refused.err.contains(why), "{why}: {}", refused.err);
    }
}

#[test]
fn the_image_to_start_from_is_found_by_its_record() {
    let host = hosts_for("an image is found by its record").remove(0);
    let registry = Registry::start();
    registry.add_layers(BASE, "agent", &host);
    let proxy = Proxy::start(registry.address.parse().unwrap());
    let address = proxy.address().to_string();
    let stage = Stage::with_registries(Copy::of("hello"), &host, &[&registry.address, &address], PASSWORD);
    let base = stage.push_base(&registry);
    let repository = Repository { stage, proxy, options: format!("--base-image {base}") };
    repository.refused("new", "one", "the registry has no image");

    // The newest is neither the first nor the last by its name.
    repository.push("v9", "one");
    repository.push("v1", "two");
    repository.push("v10", "three");
    repository.push("v5", "four");
    repository.refused("new", "other", "--label differs (compared with");
    repository.refused("new", "other", &repository.name("v5"));

    let (replaced, lists, _) = repository.asked(|| repository.replace("new", "two"));
    assert_eq!((replaced.code, lists), (0, 1), "{}", replaced.err);
    // The names and `latest` are asked for first, and nothing else if one of them fits.
    let (replaced, lists, manifests) = repository.asked(|| repository.replace("new", "two"));
    assert_eq!((replaced.code, lists, manifests), (0, 0, 1), "{}", replaced.err);
    let second = format!("newer -t {}", repository.name("new"));
    let (replaced, lists, manifests) = repository.asked(|| repository.replace(&second, "two"));
    assert_eq!((replaced.code, lists, manifests), (0, 0, 2), "{}", replaced.err);
    repository.push("latest", "five");
    let (replaced, lists, manifests) = repository.asked(|| repository.replace("newest", "five"));
    assert_eq!((replaced.code, lists, manifests), (0, 0, 2), "{}", replaced.err);

    other_lists(&registry, &repository);
    for tag in ["v1", "v5", "v9", "v10", "latest"] {
        try_docker(&host, &["rmi", &repository.name(tag)]).unwrap();
    }
    try_docker(&host, &["rmi", &base]).unwrap();
}

/// Lists in pages, of something else than images, that are too long, and that the registry refuses.
fn other_lists(registry: &Registry, repository: &Repository) {
    const PAGE: &[(&str, &str)] = &[("Link", "</v2/agent/tags/list?last=a>; rel=\"next\"")];
    const ELSEWHERE: &[(&str, &str)] = &[("Link", "<http://127.0.0.1:1/v2/agent/tags/list>; rel=\"next\"")];
    let proxy = &repository.proxy;
    let page = |headers| Fault::Answer(200, headers, r#"{"name": "agent", "tags": ["none", "../x", 1]}"#);
    proxy.fail("GET", LIST, page(PAGE), 2);
    let (replaced, asked, _) = repository.asked(|| repository.replace("paged", "three"));
    assert_eq!((replaced.code, asked), (0, 1), "{}", replaced.err);
    proxy.fail("GET", LIST, page(PAGE), 99);
    repository.refused("endless", "four", "--label differs");
    proxy.mend();
    proxy.fail("GET", LIST, page(ELSEWHERE), 1);
    repository.refused("elsewhere", "four", "--label differs");
    proxy.mend();

    for status in [401, 403, 404, 405] {
        proxy.fail("GET", LIST, Fault::Answer(status, &[], "no list"), 9);
        let refused = repository.replace("unknown", "four");
        proxy.mend();
        assert_eq!(refused.code, 1, "{status}: {}", refused.err);
        let compared = format!("--label differs (compared with `{}`)", repository.name("latest"));
        assert!(
            refused.err.contains(&compared) && !refused.err.contains("list the tags"),
            "{status}: {}",
            refused.err
        );
    }

    let chart = registry.put_blob("agent", "no JSON");
    let chart = format!(
        r#"{{"schemaVersion": 2, "mediaType": "{MANIFEST}", "config": {{"mediaType": "x", "size": 7, "digest": "{chart}"}}, "layers": []}}"#
    );
    registry.put_manifest("agent", "z", MANIFEST, &chart);
    let replaced = repository.replace("beside-a-chart", "three");
    assert_eq!(replaced.code, 0, "{}", replaced.err);
    // An older image than the last 20.
    let other = String::from_utf8(registry.get("agent", "manifests/v5")).unwrap();
    (100..120).for_each(|tag| registry.put_manifest("agent", &format!("z{tag}"), MANIFEST, &other));
    let (refused, _, manifests) = repository.asked(|| repository.replace("late", "one"));
    assert_eq!((refused.code, manifests), (1, 22), "{}", refused.err);
}
