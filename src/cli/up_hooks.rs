//! The events of `up`.

use super::env::Env;
use super::printer::Printer;
use super::setup::SetupArguments;
use crate::compiler::front::source::Source;
use crate::engine::{self, BuildEvent};
use crate::live::{Event, Reporter};
use crate::up::{Hooks, Session};

/// Prints events and the progress of builds.
pub(super) struct UpHooks<'a> {
    printer: Printer<'a>,
    arguments: &'a SetupArguments,
    /// The machine that ports are published on, if it is not this one.
    machine: Option<&'a str>,
    /// The configuration, to explain a failed build.
    source: Source,
}

impl<'a> UpHooks<'a> {
    pub(super) fn new(
        env: &'a mut Env,
        arguments: &'a SetupArguments,
        machine: Option<&'a str>,
        source: Source,
        is_json: bool,
    ) -> Self {
        Self { printer: Printer::new(env, is_json), arguments, machine, source }
    }
}

impl Reporter for UpHooks<'_> {
    fn event(&mut self, event: &Event) {
        self.printer.event(event);
    }

    fn is_closed(&self) -> bool {
        self.printer.is_closed()
    }
}

impl Hooks for UpHooks<'_> {
    fn building(&mut self, event: &BuildEvent) {
        self.printer.building(event);
    }

    fn built(&mut self, failed: Option<&engine::Error>) {
        self.printer.built(failed, &self.source);
    }

    fn replan(&mut self) -> Option<Session> {
        let prepared = self.arguments.prepare(self.printer.env, false, self.machine).ok()?;
        self.printer.env.end_round();
        self.source = prepared.planned.project.source;
        Some(prepared.session)
    }
}
