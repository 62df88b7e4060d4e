//! The server with PostgreSQL and Redis, for which agentcli has files beside its packages.

use std::path::{Path, PathBuf};

use super::HOME;
use super::error::Error;
use super::lock::hidden_directory;
use super::provision;
use super::server::Runtime;
use super::session::{Hooks, Session};
use crate::child::Command;
use crate::compiler::paths::file_name;
use crate::compiler::server::product::State;
use crate::live::Event;
use crate::project;

/// The directory of the files.
const FILES: &str = "server";

/// The file of the requirements that replace others: the runtime of the server requires another version of it.
const OVERRIDES: &str = "overrides.txt";

/// The directory of the files in the project in `directory`.
pub(super) fn files(directory: &Path) -> PathBuf {
    directory.join(HOME).join(FILES)
}

/// The path of the requirements that replace others, in the project in `directory`.
pub(super) fn overrides(directory: &Path) -> PathBuf {
    files(directory).join(OVERRIDES)
}

/// Writes the files of the server, which its installation needs, too.
pub(super) fn write_files(session: &Session) -> Result<(), Error> {
    let Some(installation) = session.plan.server.product.with_databases() else { return Ok(()) };
    let directory = files(&session.directory);
    hidden_directory(&directory)?;
    let overrides = installation.own.join("\n");
    for (path, text) in installation.files.iter().chain(&[(OVERRIDES, &*overrides)]) {
        project::write_atomically(&directory.join(file_name(path)), text.as_bytes())?;
    }
    Ok(())
}

/// Makes the tables of the server, or brings them up to date.
pub(super) async fn migrate(
    session: &Session,
    runtime: &Runtime,
    hooks: &mut dyn Hooks,
) -> Result<(), Error> {
    let State::Databases { migrations: Some(command) } = session.plan.server.product.state else {
        return Ok(());
    };
    let message = "bringing the tables of the server up to date".to_owned();
    hooks.event(&Event::Provisioning { message, done: false });
    // The command of an image, with the interpreter and the directory of the files here.
    let directory = files(&session.directory);
    let program = Command::new(&runtime.program, &session.directory).argument("-P");
    let program = program.arguments(command[1..].iter().map(|path| directory.join(file_name(path))));
    let mut program = program.variables(&session.env);
    if provision::is_own(&runtime.program, &session.directory) {
        // The server needs the same bytecode, and would write it anyway.
        program = program.without("PYTHONDONTWRITEBYTECODE");
    }
    let (status, last) = provision::attempt(&program, hooks).await?;
    let last = last.into_iter().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if !status.is_success() {
        return Err(Error::Databases { reason: last });
    }
    hooks.event(&Event::Provisioning { message: last, done: true });
    Ok(())
}
