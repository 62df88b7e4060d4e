//! The variables of `env`, which become the deployment's secrets.

use crate::api::wire::{Redacted, Secret};
use crate::cli::compile::Planned;
use crate::cli::env::Env;
use crate::cli::variables;

/// Those that can be secrets; nothing where there are none.
pub(super) fn of(env: &mut Env, planned: &Planned) -> Option<Vec<Secret>> {
    let values = variables::values(env, &planned.project, &planned.config);
    let secret =
        |(name, value)| Secret { name, value: Some(Redacted::new(value)), other: Default::default() };
    let secrets: Vec<Secret> = variables::deployable(env, values).into_iter().map(secret).collect();
    (!secrets.is_empty()).then_some(secrets)
}
