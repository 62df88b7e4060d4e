//! The events and questions of `dev`.

use std::pin::Pin;

use super::ask::confirm;
use super::check::ConfigOption;
use super::command::session;
use super::console::note;
use super::env::Env;
use super::printer::Printer;
use crate::child::open_browser;
use crate::dev::{Hooks, Session};
use crate::live::{Event, Reporter};

/// Prints events and asks questions.
pub(super) struct DevHooks<'a> {
    printer: Printer<'a>,
    config: &'a ConfigOption,
    /// Whether the browser is opened once the server is ready.
    opens_browser: bool,
}

impl<'a> DevHooks<'a> {
    pub(super) fn new(
        env: &'a mut Env,
        config: &'a ConfigOption,
        is_json: bool,
        opens_browser: bool,
    ) -> Self {
        Self { printer: Printer::new(env, is_json), config, opens_browser }
    }
}

impl Reporter for DevHooks<'_> {
    fn event(&mut self, event: &Event) {
        self.printer.event(event);
        if let Event::Ready { urls, .. } = event
            && std::mem::take(&mut self.opens_browser)
            && open_browser(&urls.studio).is_err()
        {
            note(self.printer.env, "cannot open a browser");
        }
    }

    fn tick(&mut self) {
        self.printer.tick();
    }

    fn is_closed(&self) -> bool {
        self.printer.is_closed()
    }
}

impl Hooks for DevHooks<'_> {
    fn confirm(&mut self, question: &str) -> Pin<Box<dyn Future<Output = bool>>> {
        Box::pin(confirm(self.printer.env, question, true))
    }

    fn replan(&mut self) -> Option<Session> {
        let session = session(self.printer.env, self.config).ok()?;
        self.printer.env.end_round();
        Some(session)
    }
}
