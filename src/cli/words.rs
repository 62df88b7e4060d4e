//! Commands and options of other tools, and what does the same here.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

const RUN: &str = "`agentcli dev` runs the server on this machine, and `agentcli up` in containers";
const DEPLOYMENTS: &str =
    "`agentcli deploy list` lists deployments, and `agentcli deploy get NAME` shows one";
const DETACHED: &str = "`agentcli up --wait` leaves it running, and `agentcli down` stops it";

/// Commands of other tools, with what to use.
const COMMANDS: &[(&str, &str)] = &[
    ("chat", "`agentcli invoke --chat` talks to a graph"),
    ("check", "`agentcli validate` checks the configuration"),
    ("lint", "`agentcli validate` checks the configuration"),
    ("logs", "`agentcli deploy logs` shows the log of a deployment; `dev` and `up` show theirs as they run"),
    ("ls", DEPLOYMENTS),
    ("ps", DEPLOYMENTS),
    ("push", "`agentcli build --push` pushes the image to a registry"),
    ("run", RUN),
    ("serve", RUN),
    ("start", RUN),
    ("status", DEPLOYMENTS),
    ("stop", "`agentcli down` stops what `up` started; Ctrl-C stops `dev`"),
    ("version", "`agentcli --version` prints it"),
];

/// Options of other tools, after the command, with what to use.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("dev", "--reload", "`dev` restarts on changes by itself"),
    ("up", "--build", "`up` builds the image whenever something changed"),
    ("up", "--detach", DETACHED),
    ("up", "-d", DETACHED),
];

/// The error, with a tip if a word of another tool caused it.
pub(super) fn explained(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let command = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            COMMANDS.iter().find(|(word, _)| *word == command).map(|(_, tip)| *tip)
        }
        ErrorKind::InvalidValue | ErrorKind::UnknownArgument => OPTIONS
            .iter()
            .find(|(of, option, _)| *of == command && words.contains(option))
            .map(|(_, _, tip)| *tip),
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}
