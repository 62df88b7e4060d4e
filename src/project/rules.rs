//! Rules about configurations that cannot be read.

use crate::diagnostic::{Rule, Severity};

/// Rules reported when a configuration is read.
pub const RULES: &[&Rule] = &[&FILE_NOT_FOUND, &IS_A_DIRECTORY, &NOT_UTF8, &UNREADABLE_FILE];

pub(super) static FILE_NOT_FOUND: Rule = Rule {
    code: "file-not-found",
    severity: Severity::Error,
    summary: "the configuration does not exist",
    why: "Without `--config`, agentcli reads `agent.json` in the current directory, or `langgraph.json` if only that one \
          exists. Relative paths start at the current directory.",
    wrong: "agentcli validate --config agnet.json",
    right: "agentcli validate --config agent.json",
};

pub(super) static IS_A_DIRECTORY: Rule = Rule {
    code: "is-a-directory",
    severity: Severity::Error,
    summary: "the path is a directory, not a configuration file",
    why: "The configuration is a JSON file, and the paths in it are relative to its directory. Pass the path of the \
          file, not of its directory.",
    wrong: "agentcli validate ./my-agent",
    right: "agentcli validate ./my-agent/agent.json",
};

pub(super) static NOT_UTF8: Rule = Rule {
    code: "not-utf8",
    severity: Severity::Error,
    summary: "the file is not valid UTF-8",
    why: "JSON files are encoded as UTF-8. Editors on Windows may save UTF-16 or a regional encoding instead; tools \
          that read such a file fail, or read wrong characters.",
    wrong: "Out-File agent.json -Encoding unicode",
    right: "Out-File agent.json -Encoding utf8NoBOM",
};

pub(super) static UNREADABLE_FILE: Rule = Rule {
    code: "unreadable-file",
    severity: Severity::Error,
    summary: "the file cannot be read",
    why: "The file exists, but opening or reading it failed. The usual causes are missing permissions and loops of \
          symbolic links.",
    wrong: "chmod 000 agent.json",
    right: "chmod 644 agent.json",
};
