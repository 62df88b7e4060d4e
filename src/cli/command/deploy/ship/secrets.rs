//! The variables of `env`, which become the deployment's secrets.

use crate::api::wire::{Redacted, Secret};
use crate::cli::compile::Planned;
use crate::cli::console::note;
use crate::cli::env::Env;
use crate::cli::variables;
use crate::compiler::server::hosted;

/// The variables with their values, without those that the service sets itself, which are told by name, and without
/// empty ones; nothing where there are none.
pub(super) fn of(env: &mut Env, planned: &Planned) -> Option<Vec<Secret>> {
    let values = variables::values(env, &planned.project, &planned.config);
    let values =
        values.into_iter().filter_map(|(name, value)| Some((name, value.filter(|it| !it.is_empty())?)));
    let (reserved, usable): (Vec<_>, Vec<_>) =
        values.partition(|(name, _)| hosted::RESERVED.contains(&name.as_str()));
    if !reserved.is_empty() {
        let names: Vec<&str> = reserved.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("left out, since the service sets them itself: {}", names.join(", "));
        note(env, &text);
    }
    let secret = |(name, value)| Secret { name, value: Redacted::new(value), other: Default::default() };
    let secrets: Vec<Secret> = usable.into_iter().map(secret).collect();
    (!secrets.is_empty()).then_some(secrets)
}
