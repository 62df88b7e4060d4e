//! Server-sent events.

/// Maximum size of an event, in bytes.
pub(super) const MAX_EVENT: usize = 32 << 20;

/// An event as it was sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Its type; `message` if none was sent.
    pub(super) name: String,
    /// Its data, of which several lines are joined with line feeds.
    pub(super) data: Vec<u8>,
}

/// An event is larger than [`MAX_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Splits a stream into events. Comments and other fields are dropped.
#[derive(Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    name: Option<String>,
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return, which a line feed may follow.
    after_return: bool,
}

impl Parser {
    /// The events that `piece` completes.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Vec<Message>, TooLarge> {
        let mut messages = Vec::new();
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) + part.len() > MAX_EVENT {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            messages.extend(self.end_line());
        }
        Ok(messages)
    }

    /// Interprets a line; an empty one ends the event.
    fn end_line(&mut self) -> Option<Message> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let name = self.name.take().unwrap_or_else(|| "message".to_owned());
            return self.data.take().map(|data| Message { name, data });
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = Some(String::from_utf8_lossy(value).into_owned()),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, data: &str) -> Message {
        Message { name: name.to_owned(), data: data.into() }
    }

    #[test]
    fn events_are_whole_whatever_the_pieces_and_line_ends() {
        for end in ["\n", "\r\n", "\r"] {
            let lines =
                ["event: values", "data: {\"a\":", "data:1}", "id: 7", "", ": heartbeat", "", "event: end"];
            let text = format!("{}{end}data: ü{end}{end}data: cut", lines.join(end));
            for length in 1..=text.len() {
                let mut parser = Parser::default();
                let found: Vec<Message> =
                    text.as_bytes().chunks(length).flat_map(|piece| parser.feed(piece).unwrap()).collect();
                let expected = [message("values", "{\"a\":\n1}"), message("end", "ü")];
                assert_eq!(found, expected, "pieces of {length}, {end:?}");
            }
        }
    }

    #[test]
    fn endless_events_are_refused() {
        let piece = vec![b'x'; 1 << 20];
        let mut parser = Parser::default();
        let fed = (0..40).map(|_| parser.feed(&piece).is_ok()).filter(|fed| *fed).count();
        assert_eq!(fed, 32);
        let mut parser = Parser::default();
        let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
        assert!((0..40).any(|_| parser.feed(&line).is_err()));
    }
}
