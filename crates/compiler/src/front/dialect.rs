//! Defaults that depend on the name of the configuration file.

use crate::{paths, server};

/// File names of a configuration, in order of preference.
pub const CONFIGURATIONS: &[&str] = &["agent.json", server::hosted::CONFIGURATION];

/// The defaults that apply to a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Those of the specification: `agent.json`, and every name but one.
    #[default]
    Specification,
    /// Those of the server's own tool: `langgraph.json`.
    Public,
}

impl Dialect {
    /// The dialect of the file at `path`.
    pub fn of(path: &str) -> Self {
        if paths::file_name(path) == server::hosted::CONFIGURATION {
            Self::Public
        } else {
            Self::Specification
        }
    }

    /// The default of `webhooks.env_prefix`.
    pub fn webhook_prefix(self) -> &'static str {
        match self {
            Self::Specification => server::WEBHOOK_PREFIX,
            Self::Public => server::hosted::WEBHOOK_PREFIX,
        }
    }
}
