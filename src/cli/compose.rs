//! `up` and `down` with services of the user's own.

use std::path::{Path, PathBuf};

use super::attach::Attach;
use super::env::Env;
use super::setup::{DOTENV, Prepared, SetupArguments};
use crate::compiler::back::emit::compose::{Form, compose};
use crate::compiler::manifests::dotenv;
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

/// A run together with services of the user's own, as the command line asks for it.
pub(super) struct Together<'a> {
    pub(super) engine: &'a Engine,
    pub(super) arguments: &'a SetupArguments,
    /// The user's file.
    pub(super) file: &'a Path,
    pub(super) options: &'a Options,
    /// Whether events are printed as JSON.
    pub(super) is_json: bool,
}

impl Together<'_> {
    /// Runs what is prepared.
    pub(super) async fn up(&self, env: &mut Env, prepared: Prepared) -> Result<(), Error> {
        let stop = env.stop.clone();
        let Prepared { session, planned } = prepared;
        let (setup, values) = compose::without_values(&session);
        let addresses = session.addresses.clone();
        let form = Form { is_named: true, are_images_here: true, addresses, ..Form::default() };
        let text = compose(&planned.plan, &setup, &form);
        let mut project = project(env, session.directory.clone(), setup.name, self.file);
        project.variables.extend(values);
        // Where the engine was found without being named.
        if self.engine.host().starts_with("unix://") {
            project.variables.push(("DOCKER_HOST".to_owned(), self.engine.host().to_owned()));
        }
        let mut attach = Attach::new(env, self.arguments, planned.project.source, self.is_json);
        let run = compose::run(self.engine, &session, &project, &text, self.options, &mut attach, &stop);
        Ok(run.await?)
    }
}

/// How compose is called for a project of this process's.
pub(super) fn project(env: &Env, directory: PathBuf, name: String, file: &Path) -> Project {
    let variable = |name: &&str| Some(((*name).to_owned(), env.variable(name)?));
    let mut variables: Vec<_> = PASSED_ON.iter().filter_map(variable).collect();
    variables.extend(beside(env, &directory));
    Project { directory, name, file: env.directory.join(file), variables }
}

/// What the .env file beside the configuration says, for the user's services. Compose would read it by rules of its own,
/// and say parts of values that it takes for variables.
fn beside(env: &Env, directory: &Path) -> Vec<(String, String)> {
    let text = crate::project::text(&directory.join(DOTENV)).unwrap_or_default();
    let found = dotenv::parse(&text, |name| (env.variables)(name)).variables;
    let is_free =
        |name: &str| (env.variables)(name).is_none() && !name.is_empty() && !name.starts_with("DOCKER_");
    let known = found.into_iter().filter(|(name, _)| is_free(name) && !name.contains(['=', '\0']));
    known.filter_map(|(name, value)| Some((name, value.filter(|value| !value.contains('\0'))?))).collect()
}
