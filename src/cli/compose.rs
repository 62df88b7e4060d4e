//! `up` and `down` with services of the user.

use std::path::{Path, PathBuf};

use super::env::Env;
use super::settings::Settings;
use super::setup::{Prepared, SetupArguments};
use super::up_hooks::UpHooks;
use crate::compiler::back::emit::compose::{Form, compose};
use crate::compose::{self, Project};
use crate::engine::Engine;
use crate::error::Error;
use crate::up::Options;

/// Variables that select the engine and its credentials.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
];

/// A run together with services of the user.
pub(super) struct WithServices<'a> {
    pub(super) engine: &'a Engine,
    pub(super) arguments: &'a SetupArguments,
    /// The user's file.
    pub(super) file: &'a Path,
    pub(super) options: &'a Options,
    /// Whether events are printed as JSON Lines.
    pub(super) is_json: bool,
}

impl WithServices<'_> {
    /// Runs what was prepared.
    pub(super) async fn up(&self, env: &mut Env, prepared: Prepared) -> Result<(), Error> {
        let stop = env.stop.clone();
        let Prepared { session, planned, .. } = prepared;
        let (setup, values) = compose::without_values(&session);
        let addresses = session.addresses.clone();
        let form = Form { is_named: true, are_images_here: true, addresses, ..Form::default() };
        let text = compose(&planned.plan, &setup, &form);
        let mut project = project(env, session.directory.clone(), setup.name, self.file);
        project.variables.extend(values);
        // The engine may have been found without a variable that names it.
        if self.engine.host().starts_with("unix://") {
            project.variables.push(("DOCKER_HOST".to_owned(), self.engine.host().to_owned()));
        }
        let mut hooks =
            UpHooks::new(env, self.arguments, self.engine.machine(), planned.project.source, self.is_json);
        let run = compose::run(self.engine, &session, &project, &text, self.options, &mut hooks, &stop);
        Ok(run.await?)
    }
}

/// The compose project of `directory`. Compose gets the variables of the .env file there from us, because its own parser
/// differs and prints parts of values that it takes for variables.
pub(super) fn project(env: &mut Env, directory: PathBuf, name: String, file: &Path) -> Project {
    let variable = |name: &&str| Some(((*name).to_owned(), env.variable(name)?));
    let mut variables: Vec<_> = PASSED_ON.iter().filter_map(variable).collect();
    let settings = Settings::read(env, &directory);
    let is_free =
        |name: &str| (env.variables)(name).is_none() && !name.is_empty() && !name.starts_with("DOCKER_");
    let usable = settings
        .variables()
        .filter(|(name, value)| is_free(name) && !name.contains(['=', '\0']) && !value.contains('\0'));
    variables.extend(usable.map(|(name, value)| (name.to_owned(), value.to_owned())));
    Project { directory, name, file: env.directory.join(file), variables }
}
