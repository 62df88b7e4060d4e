//! Registries that are reached without an engine, and what is printed meanwhile.

use std::pin::pin;

use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::env::Env;
use super::printer::Printer;
use crate::engine::EngineEnv;
use crate::live::{Event, Reporter as _};
use crate::registry::Access;

/// How registries are reached, and what happens on the way.
pub(super) fn access<'a>(env: &Env, engine_env: &'a EngineEnv) -> (Access<'a>, UnboundedReceiver<Event>) {
    let (sender, events) = mpsc::unbounded_channel();
    (Access { env: engine_env, policy: env.retry_policy, events: sender }, events)
}

/// The result of `run`, whose events are printed until then.
pub(super) async fn reported<T>(
    printer: &mut Printer<'_>,
    mut events: UnboundedReceiver<Event>,
    run: impl Future<Output = T>,
) -> T {
    let mut run = pin!(run);
    let done = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => printer.event(&event),
            done = &mut run => break done,
        }
    };
    while let Ok(event) = events.try_recv() {
        printer.event(&event);
    }
    done
}
