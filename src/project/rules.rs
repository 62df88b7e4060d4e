//! What can be wrong with a configuration before its first character is read.

use crate::diagnostic::{Rule, Severity};

/// What reading a configuration can find.
pub const RULES: &[&Rule] = &[&FILE_NOT_FOUND, &IS_A_DIRECTORY, &NOT_UTF8, &UNREADABLE_FILE];

pub(super) static FILE_NOT_FOUND: Rule = Rule {
    code: "file-not-found",
    severity: Severity::Error,
    summary: "there is no configuration at that path",
    why: "Without a file name, `agent.json` in the current directory is read, or `langgraph.json` where only that one \
          is there. Relative paths are looked up from the current directory.",
    wrong: "agentcli validate --config agnet.json",
    right: "agentcli validate --config agent.json",
};

pub(super) static IS_A_DIRECTORY: Rule = Rule {
    code: "is-a-directory",
    severity: Severity::Error,
    summary: "the path names a directory, not a configuration",
    why: "The configuration is one JSON file, and everything in it is relative to the directory that it lies in. Name \
          the file, not its directory.",
    wrong: "agentcli validate ./my-agent",
    right: "agentcli validate ./my-agent/agent.json",
};

pub(super) static NOT_UTF8: Rule = Rule {
    code: "not-utf8",
    severity: Severity::Error,
    summary: "the file is not UTF-8 text",
    why: "JSON is UTF-8. Editors on Windows may save a file as UTF-16 or in a regional encoding instead; every tool \
          that reads it then fails, or reads other letters.",
    wrong: "Out-File agent.json -Encoding unicode",
    right: "Out-File agent.json -Encoding utf8NoBOM",
};

pub(super) static UNREADABLE_FILE: Rule = Rule {
    code: "unreadable-file",
    severity: Severity::Error,
    summary: "the system does not let the file be read",
    why: "The file is there, but opening or reading it failed: most often its permissions do not allow it, or a link \
          leads in a circle.",
    wrong: "chmod 000 agent.json",
    right: "chmod 644 agent.json",
};
