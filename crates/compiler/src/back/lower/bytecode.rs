//! The bytecode of installed packages, so that no container compiles them again.
//!
//! Installers compile all files of a package, of which a server loads a fifth. A program in the image follows the imports
//! of the server and of the project instead, through the packages. Python compares the bytecode with the hash of the source,
//! since times change with every build.
//!
//! The step that compiles writes the program itself. A stage for it would be the same in all images, and Docker 20.10
//! crashes at times ("failed to get edge") when builds that run at once share such a step.

use crate::back::lower::Input;
use crate::back::plan::Command;
use crate::server;

/// The program in the image, until it has run.
pub const PROGRAM: &str = "/tmp/bytecode.py";

/// The commands that compile what is new of the packages that the server and the project import, or of all if those are not
/// known.
pub(super) fn imported(input: &Input<'_>) -> [Command; 2] {
    let packages = input.packages.iter().copied().flatten().map(String::as_str);
    let server = input.packages.map(|_| server::DISTRIBUTION);
    commands(&server.into_iter().chain(packages).collect::<Vec<_>>())
}

/// The commands that compile what is new of all packages.
pub(super) fn all() -> [Command; 2] {
    commands(&[])
}

fn commands(arguments: &[&str]) -> [Command; 2] {
    let lines = include_str!("bytecode.py").lines().map(str::to_owned).collect();
    let write = Command::Write { lines, file: PROGRAM.to_owned() };
    let program = [PROGRAM].iter().chain(arguments).copied().collect::<Vec<_>>().join(" ");
    [write, Command::Shell(format!("python3 -W ignore {program} && rm {PROGRAM}"))]
}
