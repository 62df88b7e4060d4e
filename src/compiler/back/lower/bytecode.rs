//! The bytecode of installed packages, so that no container compiles them again.
//!
//! Installers compile all files of a package, of which a server loads a fifth. A program in the image follows the imports
//! of the packages instead. Python compares the bytecode with the hash of the source, since times change with every build.
//!
//! The step that installs the packages writes the program itself. A stage for it would be the same in all images, and
//! Docker 20.10 crashes at times ("failed to get edge") when builds that run at once share such a step.

use crate::compiler::back::plan::Command;

/// The program in the image, until it has run.
const PROGRAM: &str = "/tmp/bytecode.py";

/// The commands that compile what is new.
pub(super) fn commands() -> [Command; 2] {
    let lines = include_str!("bytecode.py").lines().map(str::to_owned).collect();
    let write = Command::Write { lines, file: PROGRAM.to_owned() };
    [write, Command::Shell(format!("python3 -W ignore {PROGRAM} && rm {PROGRAM}"))]
}
