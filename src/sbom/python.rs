//! Packages in directories `site-packages`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::component::{Component, Hash, Kind, Source};
use super::licence::Licence;

/// The fields of a METADATA file.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let is_field = move |line: &'a str| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        };
        self.0.lines().take_while(|line| !line.trim().is_empty()).filter_map(is_field)
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).find(|value| !value.is_empty())
    }

    /// Whether the value of a field goes on in the next line.
    fn is_long(&self, name: &str) -> bool {
        let mut lines = self.0.lines().skip_while(|line| !line.starts_with(name));
        lines.nth(1).is_some_and(|line| line.starts_with([' ', '\t']))
    }

    fn licence(&self) -> Option<Licence> {
        let classifiers = self.all("Classifier").filter_map(|it| it.strip_prefix("License :: "));
        let classifiers: Vec<&str> = classifiers
            .filter_map(|it| it.rsplit(" :: ").next())
            .filter(|it| *it != "OSI Approved")
            .collect();
        let expression = self.get("License-Expression").and_then(Licence::expression);
        let text = self.get("License").filter(|_| !self.is_long("License:"));
        let text = || text.and_then(Licence::name);
        expression.or_else(text).or_else(|| Licence::name(&classifiers.join(", ")))
    }
}

/// The package of a METADATA or PKG-INFO file; what is beside it is in `files`.
pub(super) fn component(path: &str, text: &str, files: &BTreeMap<String, String>) -> Option<Component> {
    let directory = if path.ends_with("-info") { path } else { path.rsplit_once('/')?.0 };
    let (site, info) = directory.rsplit_once('/')?;
    let fields = Fields(text);
    // The directory has them, too, and needs no encoding.
    let stem = info.rsplit_once('.').map_or(info, |(stem, _)| stem);
    let (named, rest) = stem.split_once('-').unwrap_or((stem, ""));
    let name = fields.get("Name").unwrap_or(named);
    let version = fields.get("Version").or(rest.split('-').next().filter(|it| !it.is_empty()))?;
    let beside = |name: &str| files.get(&format!("{directory}/{name}"));
    let wheel = beside("WHEEL").map(|text| Fields(text).all("Tag").map(str::to_owned).collect());
    let direct = beside("direct_url.json").and_then(|text| serde_json::from_str(text).ok());
    let (source, hashes) = direct.map(|direct: Value| source(&direct)).unwrap_or_default();
    Some(Component {
        licence: fields.licence(),
        wheel: wheel.unwrap_or_default(),
        source: source.unwrap_or_default(),
        hashes,
        ..Component::new(Kind::Python, name, version, site)
    })
}

/// The place that a direct URL (PEP 610) tells, and the hashes of the archive there.
fn source(direct: &Value) -> (Option<Source>, Vec<Hash>) {
    let Some(url) = direct["url"].as_str().and_then(public) else { return (None, Vec::new()) };
    if direct["dir_info"].is_object() {
        let path = url.strip_prefix("file://").unwrap_or(&url).to_owned();
        return (Some(Source::Directory(path)), Vec::new());
    }
    let info = &direct["archive_info"];
    let hashes = info["hashes"].as_object().into_iter().flatten();
    let hashes = hashes.filter_map(|(algorithm, digest)| Hash::of(algorithm, digest.as_str()?));
    let old = info["hash"].as_str().and_then(|hash| hash.split_once('=')).and_then(|it| Hash::of(it.0, it.1));
    let mut hashes: Vec<Hash> = hashes.chain(old).collect();
    hashes.sort();
    hashes.dedup();
    let source = match (direct["vcs_info"]["vcs"].as_str(), direct["vcs_info"]["commit_id"].as_str()) {
        (Some(vcs), Some(commit)) => Source::Repository(format!("{vcs}+{url}@{commit}")),
        _ if url.starts_with("file:") => Source::File,
        _ => Source::Url(url),
    };
    (Some(source), hashes)
}

/// A URL without its credentials, query and fragment, which may be secret.
fn public(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next()?;
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let is_plain = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    let is_word = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let is_valid = scheme.chars().all(is_word) && host.chars().chain(path.chars()).all(is_plain);
    is_valid.then(|| format!("{scheme}://{host}{path}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(info: &str, text: &str, beside: &[(&str, &str)]) -> Option<Component> {
        let directory = format!("usr/lib/python3/site-packages/{info}");
        let files = beside.iter().map(|(name, text)| (format!("{directory}/{name}"), (*text).to_owned()));
        component(&format!("{directory}/METADATA"), text, &files.collect())
    }

    #[test]
    fn licences_of_metadata() {
        let name = |text: &str| Some(Licence::Name(text.to_owned()));
        for (text, licence) in [
            ("License-Expression: MIT OR X\nLicense: y", Some(Licence::Expression("MIT OR X".to_owned()))),
            ("License: BSD\n", name("BSD")),
            (
                "License: long\n  text\nClassifier: License :: OSI Approved :: MIT License",
                name("MIT License"),
            ),
            (
                "Classifier: License :: A\nClassifier: License :: OSI Approved\nClassifier: License :: B :: C",
                name("A, C"),
            ),
            ("License: UNKNOWN\nClassifier: Topic :: X\n\nLicense: body", None),
            ("", None),
        ] {
            let found = read("a-1.dist-info", &format!("Name: a\nVersion: 1\n{text}"), &[]).unwrap();
            assert_eq!(found.licence, licence, "{text}");
        }
    }

    #[test]
    fn broken_metadata_leaves_the_name_of_the_directory() {
        let found = read("odd_name-1.2.dist-info", "\u{fffd}\u{fffd}", &[]).unwrap();
        assert_eq!((&*found.name, &*found.version), ("odd_name", "1.2"));
        assert_eq!(read("odd.dist-info", "Name: x", &[]), None);
        let path = "lib/dist-packages/old-2.0-py3.9.egg-info";
        let found = component(path, "", &BTreeMap::new()).unwrap();
        assert_eq!((&*found.name, &*found.version), ("old", "2.0"));
    }

    #[test]
    fn direct_urls_have_no_credentials() {
        let git = json!({ "url": "https://me:s3cret@x.y/z.git?token=s3cret", "vcs_info": { "vcs": "git", "commit_id": "ab" } });
        let archive = json!({ "url": "https://x.y/z.whl", "archive_info": { "hash": format!("sha256={}", "a".repeat(64)) } });
        let local = json!({ "url": "file:///deps/app", "dir_info": { "editable": true } });
        for (direct, source, hashes) in [
            (git, Source::Repository("git+https://x.y/z.git@ab".to_owned()), 0),
            (archive, Source::Url("https://x.y/z.whl".to_owned()), 1),
            (local, Source::Directory("/deps/app".to_owned()), 0),
            (json!({ "url": "file:///a.whl", "archive_info": {} }), Source::File, 0),
            (json!({ "url": "https://x.y/a b", "archive_info": {} }), Source::Index, 0),
            (json!([]), Source::Index, 0),
        ] {
            let text = direct.to_string();
            let found = read("a-1.dist-info", "Name: a\nVersion: 1", &[("direct_url.json", &text)]).unwrap();
            assert_eq!((found.source, found.hashes.len()), (source, hashes), "{text}");
        }
    }
}
