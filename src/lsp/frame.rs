//! Messages on a stream: headers, an empty line, and JSON of the announced length.

use std::io::{self, BufRead, Read as _};

use lsp_server::Message;

use super::Error;
use crate::project::reason;

/// Maximum length of a header line, in bytes.
const MAX_HEADER: u64 = 4096;

/// Maximum length of a message, in bytes.
const MAX_LENGTH: u64 = 256 << 20;

/// The next message; none at the end of the input.
pub(super) fn read(input: &mut impl BufRead) -> Result<Option<Message>, Error> {
    let Some(length) = read_headers(input)? else { return Ok(None) };
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 != length {
        return Err(invalid("the input ends within a message"));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|_| invalid("the content is not a JSON-RPC message"))
}

/// The length that the headers announce; none at the end of the input.
fn read_headers(input: &mut impl BufRead) -> Result<Option<u64>, Error> {
    let mut length = None;
    for index in 0.. {
        let mut line = String::new();
        input.take(MAX_HEADER).read_line(&mut line).map_err(|error| failed(&error))?;
        if line.is_empty() && index == 0 {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(invalid("a header has no `:`"));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = value.trim().parse().ok().filter(|&length| length <= MAX_LENGTH);
        }
    }
    length.map(Some).ok_or_else(|| invalid("a message has no valid `Content-Length`"))
}

/// Whether `message` ends the session.
pub(super) fn is_exit(message: &Message) -> bool {
    matches!(message, Message::Notification(notification) if notification.method == "exit")
}

fn failed(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => invalid("a header is not valid UTF-8"),
        _ => invalid(&reason(error)),
    }
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
            assert!(matches!(read(&mut input).unwrap(), Some(Message::Notification(it)) if it.method == "ä"));
        }
        assert!(read(&mut input).unwrap().is_none());
    }

    #[test]
    fn other_input_is_an_error() {
        for text in [
            "hello\n",
            "{}",
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: 2\r\n\r\n{}",
            "Content-Length: 2\r\n\r\n!!",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 18446744073709551615\r\n\r\n{}",
            "Content-Type: x\r\n\r\n{}",
            "\r\n",
        ] {
            assert!(read(&mut text.as_bytes()).is_err(), "{text}");
        }
        assert!(read(&mut [0xff, 0xfe, b'\n'].as_slice()).is_err());
        assert!(read(&mut io::BufReader::new(io::repeat(b'x'))).is_err());
    }
}
