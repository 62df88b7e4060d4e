//! What `up` asks its user for.

use super::env::Env;
use super::printer::Printer;
use super::setup::SetupArguments;
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent};
use crate::live::Event;
use crate::up::{Hooks, Session};

/// Shows events and the progress of builds.
pub(super) struct Attach<'a> {
    printer: Printer<'a>,
    arguments: &'a SetupArguments,
    /// The configuration, to show the findings of a build in.
    source: Source,
}

impl<'a> Attach<'a> {
    pub(super) fn new(
        env: &'a mut Env,
        arguments: &'a SetupArguments,
        source: Source,
        is_json: bool,
    ) -> Self {
        Self { printer: Printer::new(env, is_json), arguments, source }
    }
}

impl Hooks for Attach<'_> {
    fn event(&mut self, event: &Event) {
        self.printer.show(event);
    }

    fn building(&mut self, event: &BuildEvent) {
        self.printer.building(event);
    }

    fn built(&mut self, failed: Option<&engine::Error>) {
        self.printer.built(failed, &self.source);
    }

    fn is_over(&self) -> bool {
        self.printer.is_over()
    }

    fn replan(&mut self) -> Option<Session> {
        let prepared = self.arguments.prepare(self.printer.env, false).ok()?;
        self.printer.env.end_round();
        self.source = prepared.planned.project.source;
        Some(prepared.session)
    }
}
