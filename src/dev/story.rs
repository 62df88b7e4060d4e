//! What the server tells of its runs and requests, in lines that are for this program.

use crate::live::Event;

/// Begins such a line: a control character that nothing else begins a line with.
pub(super) const MARK: &str = "\u{1e}agentcli ";

/// The event of a line, if it is one.
pub(super) fn read(line: &str) -> Option<Event> {
    let told = serde_json::from_str(line.strip_prefix(MARK)?).ok()?;
    Some(match told {
        Told::Run(run) => Event::Run(run),
        Told::Request(request) => Event::Request(request),
        Told::Tried { .. } => return None,
    })
}

/// Whether the project loads, if a line tells that of a standby that has tried.
pub(super) fn loads(line: &str) -> Option<bool> {
    match serde_json::from_str(line.strip_prefix(MARK)?).ok()? {
        Told::Tried { loads } => Some(loads),
        _ => None,
    }
}

#[derive(serde::Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Told {
    Run(crate::live::Run),
    Request(crate::live::Request),
    Tried { loads: bool },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_with_the_mark_are_events() {
        let run = r#"{"event":"run","time":"16:02:31","run":"1","graph":"shop","status":"failed","milliseconds":12,"nodes":["a"],"error":"E: x"}"#;
        assert!(matches!(read(&format!("{MARK}{run}")), Some(Event::Run(run)) if run.place.is_none()));
        assert_eq!(read(run), None);
        assert_eq!(read(&format!("{MARK}{}", &run[..40])), None);
    }
}
