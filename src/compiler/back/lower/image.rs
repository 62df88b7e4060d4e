//! Which server runs the project, and which image has it.

use crate::compiler::back::plan::Variant;
use crate::compiler::front::config::Config;
use crate::compiler::{paths, server};

pub(super) fn python(config: &Config) -> String {
    config.python().unwrap_or(server::DEFAULT_PYTHON).to_owned()
}

pub(super) fn node(config: &Config) -> String {
    config.node_version.clone().unwrap_or_else(|| server::DEFAULT_NODE.to_owned())
}

/// The image with its tag. A base image that names a tag or digest is used as it is.
pub(super) fn reference(config: &Config, variant: Variant) -> String {
    let (word, version, standard) = match variant {
        Variant::Javascript => ("node", node(config), server::JAVASCRIPT_IMAGE),
        Variant::Python | Variant::Mixed => ("py", python(config), server::PYTHON_IMAGE),
    };
    let repository = config.base_image.as_deref().unwrap_or(standard);
    let distro = config.image_distro.as_deref().or(config.python_distro()).unwrap_or(server::DEFAULT_DISTRO);
    let distro = if distro == server::DEFAULT_DISTRO { String::new() } else { format!("-{distro}") };
    let tagged = repository.contains('@') || paths::file_name(repository).contains(':');
    if tagged && repository.contains(server::VERSIONED_REPOSITORY) && !repository.contains('@') {
        return format!("{repository}-{word}{version}{distro}");
    }
    if tagged {
        return repository.to_owned();
    }
    match &config.api_version {
        Some(api) => format!("{repository}:{api}-{word}{version}{distro}"),
        None => format!("{repository}:{version}{distro}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::front::dialect::Dialect;

    #[test]
    fn tags() {
        for (config, image) in [
            (r#"{"graphs": {"a": "a.py:g"}}"#, "langchain/langgraph-api:3.11"),
            (
                r#"{"graphs": {"a": "a.py:g"}, "python_version": "3.12", "image_distro": "wolfi"}"#,
                "langchain/langgraph-api:3.12-wolfi",
            ),
            (
                r#"{"graphs": {"a": "a.py:g"}, "python_version": "3.12", "image_distro": "wolfi", "api_version": "0.8"}"#,
                "langchain/langgraph-api:0.8-py3.12-wolfi",
            ),
            (r#"{"graphs": {"a": "a.ts:g"}}"#, "langchain/langgraphjs-api:20"),
            (
                r#"{"graphs": {"a": "a.ts:g"}, "node_version": 22, "api_version": "0.8"}"#,
                "langchain/langgraphjs-api:0.8-node22",
            ),
            (r#"{"graphs": {"a": "a.ts:g", "b": "b.py:g"}}"#, "langchain/langgraph-api:3.11"),
            (r#"{"graphs": {"a": "a.py:g"}, "image_distro": "debian"}"#, "langchain/langgraph-api:3.11"),
            (
                r#"{"graphs": {"a": "a.py:g"}, "base_image": "localhost:5000/mine"}"#,
                "localhost:5000/mine:3.11",
            ),
            (
                r#"{"graphs": {"a": "a.py:g"}, "base_image": "localhost:5000/mine:7"}"#,
                "localhost:5000/mine:7",
            ),
            (
                r#"{"graphs": {"a": "a.py:g"}, "base_image": "x/langgraph-server:0.2"}"#,
                "x/langgraph-server:0.2-py3.11",
            ),
        ] {
            let config = Config::new(serde_json::from_str(config).unwrap(), Dialect::default());
            assert_eq!(reference(&config, config.variant()), image);
        }
    }
}
