//! What `dev` asks its user for.

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

/// Shows events, and asks questions.
pub(super) struct Follow<'a> {
    printer: Printer<'a>,
    config: &'a ConfigOption,
    /// Until it has been opened.
    opens_browser: bool,
}

impl<'a> Follow<'a> {
    pub(super) fn new(
        env: &'a mut Env,
        config: &'a ConfigOption,
        is_json: bool,
        opens_browser: bool,
    ) -> Self {
        Self { printer: Printer::new(env, is_json), config, opens_browser }
    }
}

impl Reporter for Follow<'_> {
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

impl Hooks for Follow<'_> {
    fn confirm(&mut self, question: &str) -> Pin<Box<dyn Future<Output = bool>>> {
        Box::pin(confirm(self.printer.env, question, true))
    }

    fn replan(&mut self) -> Option<Session> {
        let session = session(self.printer.env, self.config).ok()?;
        self.printer.env.end_round();
        Some(session)
    }
}
