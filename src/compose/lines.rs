//! The lines that compose prints.

use crate::live::{Event, Reporter};

/// The name for lines of no service.
const COMPOSE: &str = "compose";

/// Reports lines, except those of `hidden` services. `langgraph-api-1  | a line` belongs to a service; other lines are those
/// of compose.
pub(super) fn report(lines: &[String], hidden: &[String], reporter: &mut dyn Reporter) {
    for line in lines {
        let (service, line) = match line.split_once(" | ").map(|(name, rest)| (name.trim_end(), rest)) {
            Some((name, rest)) if is_container(name) => (without_number(name), rest),
            _ => (COMPOSE, line.trim_end()),
        };
        if !line.is_empty() && !hidden.iter().any(|name| name == service) {
            reporter.event(&Event::Log { service: Some(service.to_owned()), line: line.to_owned() });
        }
    }
}

fn is_container(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// The service of a container, whose name is as compose prints it.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((service, number)) if number.chars().all(|c| c.is_ascii_digit()) => service,
        _ => name,
    }
}
