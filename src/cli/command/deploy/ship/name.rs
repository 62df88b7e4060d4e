//! Which deployment is meant.

use super::Ship;
use crate::api::wire::Deployment;
use crate::cli::compile::Planned;
use crate::cli::env::Env;
use crate::cli::name::deployment_name;
use crate::error::Error;

/// The deployment that is meant.
pub(super) enum Wanted {
    /// One that there is.
    Id(String),
    /// One of this name, there or not.
    Name(String),
}

impl Wanted {
    /// Its name.
    pub(super) fn name(&self, found: Option<&Deployment>) -> String {
        match (found, self) {
            (Some(found), _) => found.name.clone(),
            (None, Self::Id(name) | Self::Name(name)) => name.clone(),
        }
    }
}

/// The deployment that is meant: the id wins, then the option, the environment, `.env`, and the directory's name.
pub(super) fn wanted(env: &mut Env, ship: &Ship, planned: &Planned) -> Result<Wanted, Error> {
    if let Some(id) = &ship.deployment_id {
        return Ok(Wanted::Id(id.clone()));
    }
    let name = deployment_name(env, ship.name.as_deref(), Some(&planned.project.path))?;
    Ok(Wanted::Name(name))
}
