//! `up` and `down` with services of the user's own.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc::UnboundedReceiver;

use super::attach::Attach;
use super::env::Env;
use super::setup::{Prepared, SetupArguments};
use crate::compiler::emit::compose::{Form, compose};
use crate::compose::{self, Project};
use crate::engine::Engine;
use crate::error::Error;
use crate::up::Options;

/// Variables that say to compose where the engine is and who asks it.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
];

/// Runs what is prepared together with the services of `file`.
#[expect(
    clippy::too_many_arguments,
    reason = "it joins what the command line gives with what was made of it"
)]
pub(super) async fn up(
    env: &mut Env,
    engine: &Engine,
    arguments: &SetupArguments,
    prepared: Prepared,
    file: &Path,
    options: &Options,
    is_json: bool,
    interrupts: UnboundedReceiver<()>,
) -> Result<(), Error> {
    let Prepared { session, planned } = prepared;
    let (setup, values) = compose::without_values(&session);
    let form = Form { is_named: true, are_images_here: true, ..Form::default() };
    let text = compose(&planned.plan, &setup, &form);
    let mut project = project(env, session.directory.clone(), setup.name, file);
    project.variables.extend(values);
    // Where the engine was found without being named.
    if engine.host().starts_with("unix://") {
        project.variables.push(("DOCKER_HOST".to_owned(), engine.host().to_owned()));
    }
    let mut attach = Attach::new(env, arguments, planned.project.source, is_json);
    compose::run(engine, &session, &project, &text, options, &mut attach, interrupts).await?;
    Ok(())
}

/// How compose is called for a project of this process's.
pub(super) fn project(env: &Env, directory: PathBuf, name: String, file: &Path) -> Project {
    let variable = |name: &&str| Some(((*name).to_owned(), env.variable(name)?));
    let variables = PASSED_ON.iter().filter_map(|name| variable(name)).collect();
    Project { directory, name, file: env.directory.join(file), variables }
}
