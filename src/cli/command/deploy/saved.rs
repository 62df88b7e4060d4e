//! The options of a cluster that `deploy --save` keeps beside the configuration.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cli::console::visible_line;
use crate::cluster::Target;
use crate::compiler::files::Files as _;
use crate::error::Error;
use crate::project::{self, DiskFiles};

/// The file beside the configuration.
const FILE: &str = "agentcli.json";

/// The section `deploy` of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli::command) struct Saved {
    /// Context of kubectl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli::command) context: Option<String>,
    /// Namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli::command) namespace: Option<String>,
    /// Repository, as in --push-to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli::command) push_to: Option<String>,
}

impl Saved {
    /// The given options, and those of the file in `directory` for the others.
    pub(in crate::cli::command) fn or_file(self, directory: &Path) -> Result<Self, Error> {
        let saved = File::read(directory)?.deploy;
        // A namespace is one of a context.
        let is_other = self.context.is_some() && saved.context.is_some() && self.context != saved.context;
        Ok(Self {
            context: self.context.or(saved.context),
            namespace: self.namespace.or(saved.namespace.filter(|_| !is_other)),
            push_to: self.push_to.or(saved.push_to),
        })
    }

    /// The cluster that they name.
    pub(in crate::cli::command) fn target(&self) -> Target {
        Target { context: self.context.clone(), namespace: self.namespace.clone() }
    }

    /// Keeps the options in the file in `directory`. Returns its name.
    pub(super) fn save(&self, directory: &Path) -> Result<&'static str, Error> {
        let file = File { deploy: self.clone(), ..File::read(directory)? };
        let text = serde_json::to_string_pretty(&file).unwrap_or_default() + "\n";
        project::write_atomically(&directory.join(FILE), text.as_bytes())?;
        Ok(FILE)
    }
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    deploy: Saved,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl File {
    /// The file in `directory`; an empty one if there is none.
    fn read(directory: &Path) -> Result<Self, Error> {
        let unusable = |reason: &str| {
            let message = format!("cannot read `{FILE}`: {}", visible_line(reason));
            Error::usage(message, "repair it, or remove it and pass the options with --save again")
        };
        let files = DiskFiles::new(directory);
        match files.text(FILE) {
            Some(text) => serde_json::from_str(&text).map_err(|error| unusable(&error.to_string())),
            None if files.kind(FILE).is_some() || files.refusal(FILE).is_some() => {
                Err(unusable("it is no file of the project, or too large"))
            }
            None => Ok(Self::default()),
        }
    }
}
