//! The bytecode of installed packages, so that no container compiles them again.
//!
//! Installers compile all files of a package, of which a server loads a fifth. A program in the image follows the imports
//! of the packages instead. Python compares the bytecode with the hash of the source, since times change with every build.

use indexmap::IndexMap;

use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Command, Mount, Step};

/// The stage that holds the program, and its directory there.
const STAGE: (&str, &str) = ("bytecode", "/run/agentcli/bytecode");

/// The command that compiles what is new.
pub(super) fn command() -> Command {
    words(&["python3", "-W", "ignore", &program()])
}

/// The mount of the program.
pub(super) fn mount() -> Mount {
    let (stage, directory) = STAGE;
    let [source, target] = [directory.to_owned(), directory.to_owned()];
    Mount::Bind { from: stage.to_owned(), source, target, is_writable: false }
}

/// Puts the stage with the program before all steps, if one of them uses it.
pub(super) fn stage(input: &Input<'_>, build: &mut Build) {
    let is_used =
        |step: &Step| matches!(&step.action, Action::Run { mounts, .. } if mounts.contains(&mount()));
    if !build.steps.iter().any(is_used) {
        return;
    }
    let image = input.resolved.base_image.reference.clone();
    let lines = include_str!("bytecode.py").lines().map(str::to_owned).collect();
    let write = Command::Write { lines, file: program() };
    let commands = vec![words(&["mkdir", "-p", STAGE.1]), write];
    let step = |action| Step {
        why: "program that compiles what installed packages import".to_owned(),
        key: "/dependencies".to_owned(),
        action,
    };
    let stage = [
        step(Action::From { image, stage: Some(STAGE.0.to_owned()) }),
        step(Action::Run { mounts: Vec::new(), commands }),
    ];
    build.steps.splice(0..0, stage);
}

fn words(words: &[&str]) -> Command {
    Command::Words { variables: IndexMap::new(), words: words.iter().map(|&word| word.to_owned()).collect() }
}

fn program() -> String {
    format!("{}/compile.py", STAGE.1)
}
