//! The API dialects: the names of the specification and those of the public service.

use serde_json::Value;

/// API dialect of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vocabulary {
    /// The names of the specification.
    #[default]
    Specification,
    /// The names of the public service.
    Public,
}

/// Names of fields: the record, the name in the specification and the public name.
const FIELDS: &[(&str, &str, &str)] = &[
    ("source_revision_config", "graph_config_path", "langgraph_config_path"),
    ("listener_config", "cluster_namespace", "k8s_namespace"),
    ("compute_config", "cluster_namespaces", "k8s_namespaces"),
];

/// Fields whose values are translated.
const SOURCES: &[&str] = &["source", "revision_source"];

/// Sources with different names: the name in the specification and the public name.
const VALUES: &[(&str, &str)] = &[
    ("codehost", "github"),
    ("external_container", "external_docker"),
    ("internal_container", "internal_docker"),
];

/// The part of paths with different names: in the specification and in the public API.
const PATH: (&str, &str) = ("/forge/codehost/", "/forge/github/");

/// Host of the public service; regions are subdomains.
const PUBLIC_HOST: &str = "api.host.langchain.com";

/// Host of the public trace service; regions are subdomains.
const PUBLIC_TRACES: &str = "api.smith.langchain.com";

/// Path of the deployment service on a self-hosted platform.
const OWN_PATH: &str = "/api-host";

impl Vocabulary {
    /// Address of the public service.
    pub const PUBLIC_ADDRESS: &str = "https://api.host.langchain.com";

    /// The dialect of the service at `address`: public for the public service, its regions and self-hosted platforms.
    pub fn for_address(address: &str) -> Self {
        if address.trim_end_matches('/').ends_with(OWN_PATH) {
            return Self::Public;
        }
        if is_public_service(address) { Self::Public } else { Self::Specification }
    }

    /// Address of the deployment service of a platform whose trace endpoint is `endpoint`; `None` if that is not a URL.
    pub fn host_beside(endpoint: &str) -> Option<String> {
        let (scheme, rest) = endpoint.trim_end_matches('/').split_once("://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let region = host.strip_suffix(PUBLIC_TRACES);
        if let Some(region) = region.filter(|region| region.is_empty() || region.ends_with('.')) {
            return Some(format!("{scheme}://{region}{PUBLIC_HOST}"));
        }
        let root = path.strip_suffix("/v1").unwrap_or(path);
        let root = root.strip_suffix("/api").unwrap_or(root);
        Some(format!("{scheme}://{host}{root}{OWN_PATH}"))
    }

    /// Translates a record, a page or a list of records between this dialect and that of the specification, in either
    /// direction: names are swapped, so that translating twice changes nothing.
    pub fn exchange(self, value: &mut Value) {
        if self == Self::Public {
            translate(value, "", Direction::Both);
        }
    }

    /// The name of a field of `record` in the other dialect.
    pub fn field<'a>(self, record: &str, name: &'a str) -> &'a str {
        match self {
            Self::Specification => name,
            Self::Public => other_name(record, name, Direction::Both),
        }
    }

    /// Translates a record of either dialect into that of the specification.
    pub fn specified(value: &mut Value) {
        translate(value, "", Direction::FromPublic);
    }

    /// A path in the other dialect.
    pub fn path(self, path: &str) -> String {
        let (ours, theirs) = PATH;
        match self {
            Self::Specification => path.to_owned(),
            Self::Public if path.contains(ours) => path.replacen(ours, theirs, 1),
            Self::Public => path.replacen(theirs, ours, 1),
        }
    }
}

/// Whether `address` is that of the public service or one of its regions.
pub(super) fn is_public_service(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    host.strip_suffix(PUBLIC_HOST).is_some_and(|region| region.is_empty() || region.ends_with('.'))
}

/// Which names are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// Both: they are swapped.
    Both,
    /// Public names only.
    FromPublic,
}

/// Translates known records only; free-form objects stay unchanged.
fn translate(value: &mut Value, record: &str, direction: Direction) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| translate(item, record, direction)),
        Value::Object(fields) => {
            let renamed = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                match &mut value {
                    Value::String(word) if SOURCES.contains(&name.as_str()) => {
                        *word = other_word(word, direction).to_owned();
                    }
                    Value::Object(_) | Value::Array(_) if is_record(&name) => {
                        translate(&mut value, &name, direction);
                    }
                    _ => {}
                }
                (other_name(record, &name, direction).to_owned(), value)
            });
            *fields = renamed.collect();
        }
        _ => {}
    }
}

fn is_record(name: &str) -> bool {
    matches!(
        name,
        "resources" | "source_config" | "source_revision_config" | "listener_config" | "compute_config"
    )
}

fn other_word(word: &str, direction: Direction) -> &str {
    VALUES.iter().find_map(|(ours, theirs)| other(word, ours, theirs, direction)).unwrap_or(word)
}

fn other_name<'a>(record: &str, name: &'a str, direction: Direction) -> &'a str {
    let fields = FIELDS.iter().filter(|(of, ..)| *of == record);
    fields.into_iter().find_map(|(_, ours, theirs)| other(name, ours, theirs, direction)).unwrap_or(name)
}

/// The other one of two names.
fn other(name: &str, ours: &'static str, theirs: &'static str, direction: Direction) -> Option<&'static str> {
    match name {
        _ if name == ours && direction == Direction::Both => Some(theirs),
        _ if name == theirs => Some(ours),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_and_other_hosts_are_not_the_public_service() {
        for (address, expected) in [
            (Vocabulary::PUBLIC_ADDRESS, true),
            ("https://EU.api.host.langchain.com/", true),
            ("https://notapi.host.langchain.com", false),
            ("https://platform.example/api-host", false),
            ("https://api.host.langchain.com.example", false),
        ] {
            assert_eq!(is_public_service(address), expected, "{address}");
        }
    }

    #[test]
    fn the_service_of_a_platform() {
        for (endpoint, service) in [
            ("https://api.smith.langchain.com", Some("https://api.host.langchain.com")),
            ("https://eu.api.smith.langchain.com/", Some("https://eu.api.host.langchain.com")),
            ("https://traces.example:8443/api/v1", Some("https://traces.example:8443/api-host")),
            ("https://traces.example/own/api", Some("https://traces.example/own/api-host")),
            ("traces.example", None),
        ] {
            assert_eq!(Vocabulary::host_beside(endpoint).as_deref(), service, "{endpoint}");
        }
    }
}
