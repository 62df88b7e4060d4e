//! The page at `/`: its files, and what a browser makes of them.

#[cfg(feature = "system-tests")]
mod walk;

use std::collections::BTreeSet;

use reqwest::header::{HeaderMap, IF_NONE_MATCH};

use super::service::Host;

/// The status, headers and text of a file, which the browser has with this entity tag.
fn load(host: &Host, path: &str, known: &str) -> (u16, HeaderMap, String) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.get(format!("{}{path}", host.url())).header(IF_NONE_MATCH, known);
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.text().await.unwrap())
    })
}

/// The files that a file names.
fn named(text: &str) -> BTreeSet<String> {
    let paths = text.split('"').filter_map(|part| match part.strip_prefix("./") {
        Some(module) => Some(format!("/page/{module}")),
        None => part.starts_with("/page/").then(|| part.to_owned()),
    });
    paths.collect()
}

#[test]
fn files_are_served_without_a_key_under_a_strict_policy() {
    let host = Host::start(|_| {});
    let mut paths = BTreeSet::from(["/".to_owned()]);
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop_first() {
        let (status, headers, text) = load(&host, &path, "\"other\"");
        assert_eq!(status, 200, "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["cache-control"], "no-cache");
        let tag = headers["etag"].to_str().unwrap();
        for known in [tag, &format!("\"other\", W/{tag}")] {
            let (status, headers, text) = load(&host, &path, known);
            assert_eq!((status, &*text, headers["etag"].to_str().unwrap()), (304, "", tag), "{path}");
        }
        seen.insert(path);
        paths.extend(named(&text).difference(&seen).cloned());
    }
    assert_eq!(seen.len(), 7, "{seen:?}");
}
