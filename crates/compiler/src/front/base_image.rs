//! The image that the project's image is built on, and the keys that its tag is made of.

use std::str::FromStr as _;

use pep508_rs::pep440_rs::Version;

use crate::front::config::{Config, Variant};
use crate::manifests::image_name::ImageName;
use crate::manifests::local_requirements::Closure;
use crate::manifests::requires_python::{Fit, RequiresPython};
use crate::manifests::symbols::PythonVersion;
use crate::server;
use crate::server::product::Product;
use crate::tree::Tree;

/// A base image with its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseImage {
    /// The image name for FROM.
    pub reference: String,
    /// The version of Python, or of Node.js on the JavaScript server; absent where the tag or digest was given.
    pub version: Option<String>,
    /// Keys that are set but do not change the image: the key, and the reason as a lowercase fragment.
    pub unused: Vec<(&'static str, String)>,
}

/// How much of the tag is given.
#[derive(Clone, Copy, PartialEq)]
enum Tag {
    /// None of it.
    Absent,
    /// The version of the server. The language and the distribution are appended.
    Server,
    /// All of it, or a digest.
    Whole,
}

/// The version of the server in the tag of the base image, such as `0.8` of `0.8-py3.12`.
pub fn server_version(config: &Config) -> Option<String> {
    let image = base_image(config).reference;
    let (version, rest) = ImageName::parse(&image).ok()?.tag?.split_once('-')?;
    let is_version = is_api_version(version) && rest.split('-').any(names_language);
    is_version.then(|| version.to_owned())
}

/// The base image of `config`.
pub fn base_image(config: &Config) -> BaseImage {
    let is_javascript = config.variant() == Variant::Javascript;
    let product = config.server;
    let name = name(config);
    let tag = tag(&name);
    let suffix = config.python_distro().filter(|_| !is_javascript);
    let version =
        if is_javascript { node(config) } else { config.python().unwrap_or(server::DEFAULT_PYTHON) };
    let distro = suffix.or(config.image_distro.as_deref()).filter(|distro| *distro != server::DEFAULT_DISTRO);
    let distro = distro.map(|distro| format!("-{distro}")).unwrap_or_default();
    let ending = format!("{}{distro}", product.tag_suffix);
    // A server that is installed in the image has a version of its own.
    let api_version = config.api_version.as_deref().filter(|_| product.installation.is_none());
    let word = if is_javascript { "node" } else { "py" };
    let reference = match (tag, api_version) {
        (Tag::Whole, _) => name,
        (Tag::Server, _) => format!("{name}-{word}{version}{ending}"),
        (Tag::Absent, Some(api)) => format!("{name}:{api}-{word}{version}{ending}"),
        (Tag::Absent, None) => format!("{name}:{version}{ending}"),
    };
    let version = (tag != Tag::Whole).then(|| version.to_owned());
    BaseImage { reference, version, unused: unused(config, tag) }
}

/// The name of the base image with as much of its tag as is given.
fn name(config: &Config) -> String {
    let product = config.server;
    let is_javascript = config.variant() == Variant::Javascript;
    let standard = product.javascript_image.filter(|_| is_javascript).unwrap_or(product.python_image);
    let name = config.base_image.as_deref().unwrap_or(standard);
    match image_tag(config) {
        Some(image_tag) if tag(name) == Tag::Absent => format!("{name}:{image_tag}"),
        _ => name.to_owned(),
    }
}

/// The given tag. A server that is installed in the image has another base.
fn image_tag(config: &Config) -> Option<&str> {
    config.image_tag.as_deref().filter(|_| config.server.installation.is_none())
}

/// The series of Python in the image, and the key that decides it, if it is not the default. None if that is not known.
pub fn python(config: &Config) -> Option<(PythonVersion, Option<&'static str>)> {
    let is_given = config.base_image.is_some() || image_tag(config).is_some();
    let tagged = Some(name(config)).filter(|name| is_given && tag(name) == Tag::Whole);
    let deciding = if image_tag(config).is_some() { "_INTERNAL_docker_tag" } else { "base_image" };
    let (series, key) = match (tagged, config.python()) {
        (Some(image), _) => (python_in_tag(&image, config.server)?, Some(deciding)),
        (None, Some(series)) => (series.to_owned(), Some("python_version")),
        (None, None) => {
            (config.default_python.clone().unwrap_or_else(|| server::DEFAULT_PYTHON.to_owned()), None)
        }
    };
    let (major, minor) = series.split_once('.')?;
    Some(((major.parse().ok()?, minor.parse().ok()?), key))
}

/// The series of Python on a machine: the first one that all manifests allow.
pub fn local_python(config: &Config, files: &Tree) -> Option<String> {
    let locals = Closure::of_directories(config.entries(), files).locals;
    let ranges: Vec<RequiresPython> =
        locals.iter().filter_map(|it| RequiresPython::read(it, files)).collect();
    let is_allowed = |version: &&PythonVersion| {
        ranges.iter().all(|range| range.fit_of_series(**version) == Fit::Supported)
    };
    server::PYTHONS.iter().find(is_allowed).map(|(major, minor)| format!("{major}.{minor}"))
}

/// The series of Python in a tag such as `0.8-py3.12` or, of the standard image, `3.12-wolfi`.
fn python_in_tag(image: &str, server: &Product) -> Option<String> {
    let image = ImageName::parse(image).ok()?;
    let parts = || image.tag.iter().flat_map(|tag| tag.split('-'));
    let named = parts().find_map(|part| part.strip_prefix("py").filter(|_| names_language(part)));
    let is_standard = image.name.ends_with(server.python_image);
    named.or_else(|| parts().next().filter(|part| is_standard && part.starts_with("3."))).map(str::to_owned)
}

/// The major version of Node.js.
pub fn node(config: &Config) -> &str {
    config.node_version.as_deref().unwrap_or(server::DEFAULT_NODE)
}

fn tag(name: &str) -> Tag {
    let Ok(image) = ImageName::parse(name) else { return Tag::Whole };
    match image.tag {
        None if image.digest.is_none() => Tag::Absent,
        Some(tag) if image.digest.is_none() && image.repository() == server::VERSIONED_REPOSITORY => {
            if tag.split('-').any(names_language) { Tag::Whole } else { Tag::Server }
        }
        _ => Tag::Whole,
    }
}

/// Whether this is MAJOR[.MINOR[.PATCH]], with an optional pre-release suffix.
pub fn is_api_version(version: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let plain = version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(inside);
    let parsed = Version::from_str(version).ok().filter(|_| plain);
    parsed.is_some_and(|it| it.release().len() <= 3 && it.epoch() == 0 && !it.is_post() && !it.is_local())
}

/// Whether a part of a tag is a language with its version, such as `py3.12`.
fn names_language(part: &str) -> bool {
    let versions = ["py", "node"].iter().filter_map(|word| part.strip_prefix(word));
    versions.into_iter().any(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

fn unused(config: &Config, tag: Tag) -> Vec<(&'static str, String)> {
    let is_digest = config.base_image.as_deref().is_some_and(|image| image.contains('@'));
    let tagged = match image_tag(config) {
        Some(_) => "`_INTERNAL_docker_tag` is the whole tag".to_owned(),
        None => format!("`base_image` already has a {}", if is_digest { "digest" } else { "tag" }),
    };
    let is_javascript = config.variant() == Variant::Javascript;
    // The compiler that writes the whole tag writes the version for other users of the file.
    let is_named = tag == Tag::Whole && image_tag(config).is_none();
    let keys = [
        ("python_version", config.python_version.is_some(), is_named),
        ("node_version", is_javascript && config.node_version.is_some(), is_named),
        (
            "api_version",
            config.api_version.is_some() && config.server.installation.is_none(),
            tag != Tag::Absent,
        ),
        ("image_distro", config.image_distro.is_some(), tag == Tag::Whole),
    ];
    let decided = keys.into_iter().filter(|(_, is_set, is_decided)| *is_set && *is_decided);
    decided.map(|(key, ..)| (key, tagged.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::dialect::Dialect;

    #[test]
    fn tags_and_the_keys_they_leave_unused() {
        let python = r#""graphs": {"a": "a.py:g"}"#;
        let javascript = r#""graphs": {"a": "a.ts:g"}"#;
        let digest = format!("a/b:1@sha256:{}", "0".repeat(64));
        let pinned = format!(r#""base_image": "{digest}", "python_version": "3.12""#);
        for (graphs, members, reference, unused) in [
            (python, "", "langchain/langgraph-api:3.11", &[][..]),
            (
                python,
                r#""python_version": "3.14", "image_distro": "wolfi""#,
                "langchain/langgraph-api:3.14-wolfi",
                &[],
            ),
            (python, r#""python_version": "3.12-bookworm""#, "langchain/langgraph-api:3.12-bookworm", &[]),
            (
                python,
                r#""python_version": "3.12-bookworm", "api_version": "0.8""#,
                "langchain/langgraph-api:0.8-py3.12-bookworm",
                &[],
            ),
            (
                python,
                r#""api_version": "0.8", "image_distro": "debian""#,
                "langchain/langgraph-api:0.8-py3.11",
                &[],
            ),
            (javascript, "", "langchain/langgraphjs-api:20", &[]),
            (
                javascript,
                r#""node_version": "22", "api_version": "0.8""#,
                "langchain/langgraphjs-api:0.8-node22",
                &[],
            ),
            (
                python,
                r#""_INTERNAL_docker_tag": "0.18.0.dev12-py3.14", "python_version": "3.14""#,
                "langchain/langgraph-api:0.18.0.dev12-py3.14",
                &[],
            ),
            (
                javascript,
                r#""_INTERNAL_docker_tag": "1-node22", "api_version": "0.8", "image_distro": "wolfi""#,
                "langchain/langgraphjs-api:1-node22",
                &["api_version", "image_distro"],
            ),
            (python, r#""base_image": "a", "_INTERNAL_docker_tag": "7""#, "a:7", &[]),
            (python, r#""base_image": "localhost:5000/a""#, "localhost:5000/a:3.11", &[]),
            (python, r#""base_image": "localhost:5000/a:7""#, "localhost:5000/a:7", &[]),
            (
                python,
                r#""base_image": "a:7", "python_version": "3.12", "api_version": "0.8", "image_distro": "debian""#,
                "a:7",
                &["python_version", "api_version", "image_distro"],
            ),
            (python, &pinned, &digest, &["python_version"]),
            (javascript, r#""base_image": "a:7", "node_version": "22""#, "a:7", &["node_version"]),
            (
                python,
                r#""base_image": "x/langgraph-server:0.2", "python_version": "3.12", "api_version": "0.2""#,
                "x/langgraph-server:0.2-py3.12",
                &["api_version"],
            ),
            (
                python,
                r#""base_image": "x/langgraph-server:0.2-py3.11""#,
                "x/langgraph-server:0.2-py3.11",
                &[],
            ),
            (python, r#""base_image": "my/langgraph-server-extras:7""#, "my/langgraph-server-extras:7", &[]),
        ] {
            let comma = if members.is_empty() { "" } else { ", " };
            let value = serde_json::from_str(&format!("{{{graphs}{comma}{members}}}")).unwrap();
            let config = Config::new(value, Dialect::default());
            let image = base_image(&config);
            let keys: Vec<&str> = image.unused.iter().map(|(key, _)| *key).collect();
            assert_eq!((image.reference.as_str(), keys.as_slice()), (reference, unused), "{members}");
        }
    }
}
