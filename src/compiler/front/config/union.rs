//! Values that may be written in more than one form. Each is read by hand, for serde's untagged enums hide what
//! was wrong.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// A graph: its path, or an object with path and description.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub struct GraphConfig {
    /// `<file path>:<name>`.
    pub path: String,
    /// What the graph is for.
    pub description: Option<String>,
    /// Whether it was written as an object, so that places can be pointed at.
    pub is_object: bool,
}

/// `env`: a file or a mapping.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub enum EnvConfig {
    /// Path of a .env file.
    File(String),
    /// Values by name; numbers and booleans as they were written.
    Map(IndexMap<String, String>),
}

/// `node_version`: a string or a number.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub struct NodeVersion(pub String);

/// `keep_pkg_tools`: all, none, or some.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub enum KeepPkgTools {
    /// `true` or `false`.
    All(bool),
    /// The listed ones.
    Some(Vec<String>),
}

/// `allowed_json_modules`: any, or some.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub enum JsonModules {
    /// `true`; `false` is the same as leaving it out.
    Any(bool),
    /// Symbol paths.
    Some(Vec<Vec<String>>),
}

type Read<T> = Result<T, String>;

fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Read<T> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

impl TryFrom<Value> for GraphConfig {
    type Error = String;

    fn try_from(value: Value) -> Read<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object {
            path: String,
            description: Option<String>,
        }
        if let Value::String(path) = value {
            return Ok(Self { path, description: None, is_object: false });
        }
        typed::<Object>(value).map(|it| Self { path: it.path, description: it.description, is_object: true })
    }
}

impl TryFrom<Value> for EnvConfig {
    type Error = String;

    fn try_from(value: Value) -> Read<Self> {
        match value {
            Value::String(path) => Ok(Self::File(path)),
            Value::Object(members) => {
                Ok(Self::Map(members.into_iter().map(|(name, it)| (name, text(it))).collect()))
            }
            other => Err(format!("env is {other}")),
        }
    }
}

impl TryFrom<Value> for NodeVersion {
    type Error = String;

    fn try_from(value: Value) -> Read<Self> {
        Ok(Self(text(value)))
    }
}

impl TryFrom<Value> for KeepPkgTools {
    type Error = String;

    fn try_from(value: Value) -> Read<Self> {
        if let Value::Bool(all) = value { Ok(Self::All(all)) } else { typed(value).map(Self::Some) }
    }
}

impl TryFrom<Value> for JsonModules {
    type Error = String;

    fn try_from(value: Value) -> Read<Self> {
        if let Value::Bool(any) = value { Ok(Self::Any(any)) } else { typed(value).map(Self::Some) }
    }
}

/// A scalar as the user wrote it.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

impl Serialize for GraphConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_object {
            return serializer.serialize_str(&self.path);
        }
        let fields = [("path", Some(&self.path)), ("description", self.description.as_ref())];
        serializer.collect_map(fields.into_iter().filter_map(|(key, value)| Some((key, value?))))
    }
}

impl Serialize for EnvConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::File(path) => serializer.serialize_str(path),
            Self::Map(members) => members.serialize(serializer),
        }
    }
}

impl Serialize for NodeVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for KeepPkgTools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All(all) => serializer.serialize_bool(*all),
            Self::Some(tools) => tools.serialize(serializer),
        }
    }
}

impl Serialize for JsonModules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any(any) => serializer.serialize_bool(*any),
            Self::Some(modules) => modules.serialize(serializer),
        }
    }
}
