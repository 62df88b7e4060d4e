//! The name of a deployment.

use std::path::Path;

use super::compile::directory_of;
use super::env::Env;
use super::settings::Settings;
use crate::compiler::server::hosted;
use crate::error::Error;
use crate::ship::slug;

/// The name, where no option gives it.
const VARIABLE: &str = "PLATFORM_DEPLOYMENT_NAME";

/// The name: from the option, else from the environment, else from `.env` beside `config`, or in the current directory if
/// no configuration is named, else from the name of the current directory. Names of existing deployments can have any
/// form.
pub(super) fn deployment_name(
    env: &mut Env,
    given: Option<&str>,
    config: Option<&Path>,
) -> Result<String, Error> {
    let given = given.map(str::to_owned).or_else(|| {
        let directory =
            config.map_or_else(|| env.directory.clone(), |it| directory_of(&env.directory.join(it)));
        let settings = Settings::read(env, &directory);
        let found = settings.find(env, &[VARIABLE]).or_else(|| settings.find(env, &[hosted::NAME]));
        found.map(|setting| setting.value.expose().to_owned())
    });
    if let Some(name) = given {
        return Ok(name);
    }
    let directory = env.directory.canonicalize().unwrap_or_else(|_| env.directory.clone());
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(slug(&name))
}
