//! The user of `agentcli deploy`: reads its events and answers its question.

use crate::api::wire::DeploymentType;
use crate::cli::ask::confirm;
use crate::cli::printer::Printer;
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent};
use crate::live::{Event, Reporter as _};
use crate::ship::Hooks;

/// Prints the events and asks before a deployment is created.
pub(super) struct Reporter<'a> {
    pub(super) printer: Printer<'a>,
    /// The configuration, which explains a build that failed.
    pub(super) source: &'a Source,
    /// Whether a deployment is created without asking.
    pub(super) is_confirmed: bool,
}

impl Hooks for Reporter<'_> {
    fn event(&mut self, event: &Event) {
        self.printer.event(event);
    }

    fn building(&mut self, event: &BuildEvent) {
        self.printer.building(event);
    }

    fn built(&mut self, failed: Option<&engine::Error>) {
        self.printer.built(failed, self.source);
    }

    async fn confirm_creation(&mut self, name: &str, kind: &DeploymentType) -> bool {
        let Printer { env, is_json, .. } = &mut self.printer;
        if self.is_confirmed || *is_json || !env.can_ask() {
            return true;
        }
        let question = format!("Deployment `{name}` does not exist. Create it, with type {}?", kind.word());
        confirm(env, &question, true).await
    }
}
