//! The receiver of events.

use super::event::Event;

/// Receives the events of a long-running command.
pub trait Reporter {
    /// Reports an event.
    fn event(&mut self, event: &Event);

    /// Called several times a second while a server runs.
    fn tick(&mut self) {}

    /// Whether nobody reads the events any more.
    fn is_closed(&self) -> bool {
        false
    }

    /// Reports something worth knowing, as a fragment.
    fn note(&mut self, message: String) {
        self.event(&Event::Note { message });
    }

    /// Reports something probably unintended, as a fragment.
    fn warn(&mut self, message: String) {
        self.event(&Event::Warning { message });
    }

    /// Reports lines of the only server.
    fn lines(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.event(&Event::Log { service: None, line }));
    }

    /// Reports lines, each with its service.
    fn lines_of_services(&mut self, lines: Vec<(String, String)>) {
        lines
            .into_iter()
            .for_each(|(service, line)| self.event(&Event::Log { service: Some(service), line }));
    }
}
