//! Registries that are reached without an engine.

use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::env::Env;
use crate::engine::EngineEnv;
use crate::live::Event;
use crate::registry::Access;

/// How registries are reached, and what happens on the way.
pub(super) fn access<'a>(env: &Env, engine_env: &'a EngineEnv) -> (Access<'a>, UnboundedReceiver<Event>) {
    let (sender, events) = mpsc::unbounded_channel();
    (Access { env: engine_env, login: None, policy: env.retry_policy, events: sender }, events)
}
