//! The configuration as the compiler reads it, without any default applied.
//!
//! Only keys that the compiler itself needs have a field here. The rest, such as the sections that only the server
//! reads, stays in [`Config::value`]. Absent means absent: defaults are chosen in
//! [`lower`](crate::back::lower).

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::diagnostic::Pointer;
use crate::files::Files;
use crate::front::dialect::Dialect;
use crate::manifests::dependency::{Dependency, classify};
use crate::manifests::requirement::normalized_name;
use crate::paths;
use crate::server::product::Product;
use crate::tree::Tree;

/// A checked configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The JSON value without the parts that are wrong; a wrong item of a list is null.
    pub value: Value,
    /// The defaults that apply to it.
    pub dialect: Dialect,
    /// Local directories and Python packages.
    pub dependencies: Option<List>,
    /// Graph ID to reference.
    pub graphs: IndexMap<String, String>,
    /// Image that the server image is built on.
    pub base_image: Option<String>,
    /// The whole tag of the base image, which other compilers write.
    pub image_tag: Option<String>,
    /// Linux distribution of the base image.
    pub image_distro: Option<String>,
    /// Environment of the running server.
    pub env: Option<EnvConfig>,
    /// Whether there is a section `ui`.
    pub has_ui: bool,
    /// Python version, major.minor, with an optional distribution such as in `3.12-bookworm`.
    pub python_version: Option<String>,
    /// Major version of Node.js.
    pub node_version: Option<String>,
    /// Path of a pip configuration file.
    pub pip_config_file: Option<String>,
    /// `auto`, `pip` or `uv`.
    pub pip_installer: Option<String>,
    /// Package tools that stay in the image.
    pub keep_pkg_tools: Option<KeepPkgTools>,
    /// Lines after FROM; absent where one of them is wrong, since each continues the one before.
    pub dockerfile_lines: Option<Vec<String>>,
    /// Version of the server.
    pub api_version: Option<String>,
    /// The workspace that replaces `dependencies`.
    pub source: Option<SourceConfig>,
    /// The Python version, major.minor, where nothing selects one, instead of that of the image.
    pub default_python: Option<String>,
    /// The server that it is checked and compiled for.
    pub server: &'static Product,
}

/// A list of strings. Wrong items are left out, and the others keep the index that they have in the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List(Vec<Option<String>>);

/// The value of `env`.
#[derive(Clone, Debug, PartialEq)]
pub enum EnvConfig {
    /// Path of a .env file.
    File(String),
    /// Values by name.
    Map(IndexMap<String, String>),
}

/// The value of `keep_pkg_tools`.
#[derive(Clone, Debug, PartialEq)]
pub enum KeepPkgTools {
    /// All or none of them.
    All(bool),
    /// The listed ones.
    Some(Vec<String>),
}

/// The value of `source`, of kind `uv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// Directory of the workspace.
    pub root: String,
    /// Package of the workspace to run.
    pub package: Option<String>,
    /// Extras of the package, normalised.
    pub extras: Vec<String>,
    /// Dependency groups of the package, normalised.
    pub groups: Vec<String>,
}

/// The server that runs, and the languages of what it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// The JavaScript server.
    Javascript,
    /// The Python server with Node.js, for JavaScript graphs or UI components.
    Mixed,
    /// The Python server.
    Python,
}

impl List {
    /// The items and their indices.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> + Clone {
        self.0.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_deref()?)))
    }

    /// Whether the text has no item at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Config {
    /// Reads `value`; parts that have another shape than the schema asks for count as absent.
    pub fn new(value: Value, dialect: Dialect) -> Self {
        let string = |key: &str| value.get(key).and_then(scalar);
        let strings = |key: &str| Some(value.get(key)?.as_array()?.iter().map(scalar));
        Self {
            dialect,
            dependencies: strings("dependencies").map(|items| List(items.collect())),
            graphs: graphs(&value),
            base_image: string("base_image"),
            image_tag: string("_INTERNAL_docker_tag"),
            image_distro: string("image_distro"),
            env: value.get("env").and_then(EnvConfig::new),
            has_ui: value.get("ui").is_some(),
            python_version: string("python_version"),
            default_python: None,
            node_version: string("node_version"),
            pip_config_file: string("pip_config_file"),
            pip_installer: string("pip_installer"),
            keep_pkg_tools: match value.get("keep_pkg_tools") {
                Some(Value::Bool(all)) => Some(KeepPkgTools::All(*all)),
                _ => strings("keep_pkg_tools").map(|tools| KeepPkgTools::Some(tools.flatten().collect())),
            },
            dockerfile_lines: strings("dockerfile_lines").and_then(|lines| lines.collect()),
            api_version: string("api_version"),
            source: value.get("source").and_then(SourceConfig::new),
            server: <&Product>::default(),
            value,
        }
    }

    /// Whether it runs on the newest server: other ones have requirements that are not known.
    pub fn has_newest_server(&self) -> bool {
        self.base_image.is_none() && self.api_version.is_none() && self.image_tag.is_none()
    }

    /// The value at `pointer`, such as `/http/cors`; null counts as absent.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        // Most values are absent: the first key shows that without decoding the pointer.
        // There are few keys, so that comparing costs less than hashing.
        let has = |key| self.value.as_object().is_some_and(|it| it.keys().any(|name| name == key));
        let is_absent = first_key(pointer).is_some_and(|key| !has(key));
        if is_absent { None } else { self.value.pointer(pointer).filter(|value| !value.is_null()) }
    }

    /// The string at `pointer`.
    pub fn str_at(&self, pointer: &str) -> Option<&str> {
        self.at(pointer)?.as_str()
    }

    /// The strings in the list at `pointer`, with the place of each.
    pub fn strs_at(&self, pointer: &str) -> impl Iterator<Item = (Pointer, &str)> {
        let at = Pointer::parse(pointer);
        let items = self.at(pointer).and_then(Value::as_array).into_iter().flatten().enumerate();
        items.filter_map(move |(index, item)| Some((at.join(index), item.as_str()?)))
    }

    /// The strings in the object at `pointer`, with the key of each.
    pub fn members_at(&self, pointer: &str) -> impl Iterator<Item = (&str, &str)> {
        let members = self.at(pointer).and_then(Value::as_object).into_iter().flatten();
        members.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// The entries of `dependencies` and their indices.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &str)> + Clone {
        self.dependencies.iter().flat_map(List::iter)
    }

    /// Whether some of it is JavaScript, or asks for Node.js.
    pub fn has_javascript(&self) -> bool {
        self.has_ui || self.node_version.is_some() || self.graphs.values().any(|it| paths::is_javascript(it))
    }

    /// Directories whose package.json may be that of the JavaScript graphs, in the order of preference: the
    /// configuration's, those that `dependencies` lists, of them first those with a graph, and those above it in the
    /// repository. Without such graphs, only the configuration's.
    pub fn package_directories(&self, files: &Tree) -> Vec<String> {
        let graphs: Vec<String> = self.javascript_files().collect();
        let own = [".".to_owned()].into_iter();
        if graphs.is_empty() {
            return own.collect();
        }
        let listed = self.entries().filter_map(|(_, entry)| match classify(entry, files) {
            Dependency::Local { path } => Some(path),
            Dependency::Package(_) => None,
        });
        let mut listed: Vec<String> = listed.collect();
        listed.sort_by_key(|directory| !graphs.iter().any(|graph| paths::lies_in(graph, directory)));
        own.chain(listed).chain(directories_above(files)).collect()
    }

    /// The files of the JavaScript graphs, normalised.
    pub fn javascript_files(&self) -> impl Iterator<Item = String> {
        let graphs = self.graphs.values().filter(|graph| paths::is_javascript(graph));
        graphs.map(|graph| paths::normalize(graph.rsplit_once(':').map_or(graph, |(file, _)| file)))
    }

    /// The server that it needs: the Python one, unless all graphs are JavaScript and no Python version is set.
    pub fn variant(&self) -> Variant {
        let is_javascript =
            !self.graphs.is_empty() && self.graphs.values().all(|it| paths::is_javascript(it));
        match () {
            () if is_javascript && self.python_version.is_none() => Variant::Javascript,
            () if self.has_javascript() => Variant::Mixed,
            () => Variant::Python,
        }
    }

    /// The Python version without a distribution.
    pub fn python(&self) -> Option<&str> {
        self.python_version.as_deref()?.split('-').next()
    }

    /// The distribution in `python_version`.
    pub fn python_distro(&self) -> Option<&str> {
        Some(self.python_version.as_deref()?.split_once('-')?.1)
    }

    /// Whether pip installs Python packages, rather than uv.
    pub fn uses_pip(&self) -> bool {
        match self.pip_installer.as_deref() {
            _ if self.source.is_some() => false,
            Some("pip") => true,
            Some("uv") => false,
            // uv ignores pip's configuration.
            _ => self.pip_config_file.is_some(),
        }
    }
}

impl SourceConfig {
    fn new(value: &Value) -> Option<Self> {
        let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let names = |key: &str| {
            let all = value.get(key).and_then(Value::as_array).into_iter().flatten();
            all.filter_map(Value::as_str).map(normalized_name).collect()
        };
        string("kind").filter(|kind| kind == "uv")?;
        let root = string("root").unwrap_or_else(|| ".".to_owned());
        Some(Self { root, package: string("package"), extras: names("extras"), groups: names("groups") })
    }
}

impl EnvConfig {
    fn new(value: &Value) -> Option<Self> {
        match value {
            Value::String(path) => Some(Self::File(path.clone())),
            Value::Object(members) => {
                let members = members.iter().filter_map(|(name, it)| Some((name.clone(), scalar(it)?)));
                Some(Self::Map(members.collect()))
            }
            _ => None,
        }
    }
}

/// The directories above the configuration's, up to the root of the repository.
fn directories_above(files: &Tree) -> impl Iterator<Item = String> {
    let depth = files.directory().len();
    let at = |up: usize| paths::normalize(&"../".repeat(up));
    let has_repository = |up: &usize| files.kind(&paths::join(&at(*up), ".git")).is_some();
    let top = (0..=depth).find(has_repository).unwrap_or(depth);
    (1..=top).map(at)
}

/// The references of the graphs by ID.
fn graphs(value: &Value) -> IndexMap<String, String> {
    let members = value.get("graphs").and_then(Value::as_object).into_iter().flatten();
    let graph = |(id, graph): (&String, &Value)| {
        Some((id.clone(), graph.as_str().or_else(|| graph.get("path")?.as_str())?.to_owned()))
    };
    members.filter_map(graph).collect()
}

/// A string, number or boolean as text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The first key of `pointer`, unless it is escaped or there is none.
fn first_key(pointer: &str) -> Option<&str> {
    let keys = pointer.strip_prefix('/')?;
    let end = keys.bytes().position(|byte| byte == b'/').unwrap_or(keys.len());
    keys.get(..end).filter(|key| !key.contains('~'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_items_keep_the_indices_of_the_others() {
        let config = Config::new(json!({"dependencies": [".", null, "a"]}), Dialect::default());
        assert_eq!(config.entries().collect::<Vec<_>>(), [(0, "."), (2, "a")]);
    }

    #[test]
    fn values_are_found_by_their_pointers() {
        let value = json!({"graphs": {"a/b": "x", "c": null}, "d~": ["y"]});
        let config = Config::new(value.clone(), Dialect::default());
        assert_eq!(config.at(""), Some(&value));
        assert_eq!(config.str_at("/graphs/a~1b"), Some("x"));
        assert_eq!(config.str_at("/d~0/0"), Some("y"));
        for absent in ["graphs", "/", "/graphs/c", "/graphs/c/e", "/d", "/d~0/1", "/e~0"] {
            assert_eq!(config.at(absent), None, "{absent}");
        }
    }

    #[test]
    fn variants() {
        for (value, variant) in [
            (json!({"graphs": {"a": "./a.py:g"}}), Variant::Python),
            (json!({"graphs": {"a": "./a.ts:g"}}), Variant::Javascript),
            (json!({"graphs": {"a": {"path": "./a.ts:g"}}, "python_version": "3.12"}), Variant::Mixed),
            (json!({"graphs": {"a": "./a.py:g"}, "ui": {}}), Variant::Mixed),
            (json!({}), Variant::Python),
        ] {
            assert_eq!(Config::new(value.clone(), Dialect::default()).variant(), variant, "{value}");
        }
    }
}
