//! The server with PostgreSQL and Redis, for which agentcli has files beside its packages.

use std::path::{Path, PathBuf};

use super::HOME;
use super::error::Error;
use super::lock::hidden_directory;
use super::server::Runtime;
use super::session::{Hooks, Session};
use super::{installer, provision};
use crate::child::Command;
use crate::compiler::paths::file_name;
use crate::compiler::server::product::State;
use crate::live::Event;
use crate::project;

/// The directory of the files.
const FILES: &str = "server";

/// The directory of the files in the project in `directory`.
pub(super) fn files(directory: &Path) -> PathBuf {
    directory.join(HOME).join(FILES)
}

/// Writes the files of the server, which its installation needs, too.
pub(super) fn write_files(session: &Session) -> Result<(), Error> {
    let Some(installation) = session.plan.server.product.with_databases() else { return Ok(()) };
    let directory = files(&session.directory);
    hidden_directory(&directory)?;
    for (name, text) in installation.files {
        project::write_atomically(&directory.join(name), text.as_bytes())?;
    }
    let overrides = installation.own.join("\n");
    Ok(project::write_atomically(&installer::overrides(&session.directory), overrides.as_bytes())?)
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
