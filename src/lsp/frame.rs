//! Messages on a stream: headers, an empty line, and JSON of the announced length.

use std::io::{self, BufRead, Read as _};

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};

use super::Error;
use crate::project::reason;

/// Maximum length of a header line, in bytes.
const MAX_HEADER: u64 = 4096;

/// Maximum length of a message, in bytes.
const MAX_LENGTH: u64 = 64 << 20;

/// The header that announces the length of a message.
const LENGTH: &str = "content-length:";

/// What an editor sent.
pub(super) enum Frame {
    /// A message.
    Message(Message),
    /// Something else, after which messages may follow.
    Malformed(Malformed),
}

/// Input that is no message. It is not quoted, since it may hold secrets.
pub(super) struct Malformed {
    /// A lowercase fragment.
    pub(super) reason: &'static str,
    code: ErrorCode,
    /// The ID of the request, if it is known.
    id: Value,
}

impl Malformed {
    fn new(reason: &'static str) -> Self {
        Self { reason, code: ErrorCode::ParseError, id: Value::Null }
    }

    /// The answer to it.
    pub(super) fn answer(&self) -> String {
        let error = json!({ "code": self.code as i32, "message": self.reason });
        let answer = json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string();
        format!("Content-Length: {}\r\n\r\n{answer}", answer.len())
    }
}

/// The next message; none at the end of the input.
pub(super) fn read(input: &mut impl BufRead) -> Result<Option<Frame>, Error> {
    let malformed = |reason| Ok(Some(Frame::Malformed(Malformed::new(reason))));
    let length = match read_headers(input)? {
        Headers::End => return Ok(None),
        Headers::Malformed(reason) => return malformed(reason),
        Headers::Length(length) => length,
    };
    if length > MAX_LENGTH {
        io::copy(&mut input.take(length), &mut io::sink()).map_err(|error| failed(&error))?;
        return malformed("the message is too long");
    }
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 != length {
        return Err(invalid("the input ends within a message"));
    }
    let message = serde_json::from_slice(&bytes);
    Ok(Some(message.map_or_else(|_| Frame::Malformed(no_message(&bytes)), Frame::Message)))
}

/// Why `bytes` are not a message.
fn no_message(bytes: &[u8]) -> Malformed {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Malformed::new("the content is not JSON");
    };
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    Malformed { reason: "the content is not a JSON-RPC message", code: ErrorCode::InvalidRequest, id }
}

enum Headers {
    /// The length of the message that follows.
    Length(u64),
    /// They announce no length, for this reason.
    Malformed(&'static str),
    /// There are none.
    End,
}

fn read_headers(input: &mut impl BufRead) -> Result<Headers, Error> {
    let (mut length, mut is_empty) = (None, true);
    loop {
        let mut line = Vec::new();
        input.take(MAX_HEADER).read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
        if line.is_empty() && is_empty {
            return Ok(Headers::End);
        }
        is_empty = false;
        let line = String::from_utf8_lossy(&line).to_ascii_lowercase();
        if line.trim_end().is_empty() {
            let missing = Headers::Malformed("a message has no valid `Content-Length`");
            return Ok(length.map_or(missing, Headers::Length));
        }
        // The content of a malformed message may be before it, as it ends without a line break.
        if let Some((_, value)) = line.rsplit_once(LENGTH) {
            length = value.trim().parse().ok();
        } else if !line.contains(':') {
            return Ok(Headers::Malformed("a header has no `:`"));
        }
    }
}

/// Whether `message` ends the session.
pub(super) fn is_exit(message: &Message) -> bool {
    matches!(message, Message::Notification(notification) if notification.method == "exit")
}

fn failed(error: &io::Error) -> Error {
    invalid(&reason(error))
}

fn invalid(reason: &str) -> Error {
    Error::Protocol { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_one_by_one() {
        let body = r#"{"jsonrpc":"2.0","method":"ä"}"#;
        let text = format!(
            "Content-Length: {0}\r\n\r\n{body}content-length:{0}\r\nContent-Type: x\r\n\r\n{body}",
            body.len()
        );
        let mut input = text.as_bytes();
        for _ in 0..2 {
            let Some(Frame::Message(Message::Notification(found))) = read(&mut input).unwrap() else {
                panic!("{text}");
            };
            assert_eq!(found.method, "ä");
        }
        assert!(read(&mut input).unwrap().is_none());
    }

    #[test]
    fn a_message_is_read_after_other_input() {
        let message = "Content-Length: 30\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}";
        let long =
            format!("Content-Length: {}\r\n\r\n{}", MAX_LENGTH + 1, "x".repeat(MAX_LENGTH as usize + 1));
        for other in [
            "hello\n",
            "Content-Length: 2\r\n\r\n!!",
            "Content-Length: 2\r\n\r\n[]",
            "Content-Length: 8\r\n\r\n{\"id\":1}",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: x\r\n\r\n{}",
            "Content-Type: x\r\n\r\n{}",
            "\r\n",
            &long,
        ] {
            let text = format!("{other}{message}");
            let mut input = text.as_bytes();
            let first = read(&mut input).unwrap();
            let Some(Frame::Malformed(malformed)) = first else { panic!("{:.80}", text) };
            assert!(malformed.answer().contains(r#""error":{"code":-32"#));
            let second = read(&mut input).unwrap();
            assert!(matches!(second, Some(Frame::Message(Message::Notification(_)))), "{text:.80}");
        }
    }

    #[test]
    fn the_end_of_the_input_within_a_message_is_an_error() {
        for text in ["Content-Length: 5\r\n\r\n{}", "Content-Length: 1"] {
            assert!(read(&mut text.as_bytes()).is_err(), "{text}");
        }
    }
}
