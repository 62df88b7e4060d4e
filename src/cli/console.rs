//! Text on a terminal: colours, wrapping, and escapes for control characters.

use std::borrow::Cow;

use anstyle::{AnsiColor, Effects, Style};

use super::env::{Env, Stream};
use crate::compiler::secrecy::urls::masked;
use crate::error::Error;

/// Style of `error`.
pub const ERROR: Style = AnsiColor::BrightRed.on_default().effects(Effects::BOLD);
/// Style of `warning`.
pub const WARNING: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
/// Style of `note` and `hint`.
pub const NOTE: Style = AnsiColor::BrightCyan.on_default().effects(Effects::BOLD);
/// Style of `fine`.
pub const FINE: Style = AnsiColor::Green.on_default();
/// Style of headings.
pub const HEADING: Style = Style::new().effects(Effects::BOLD);

/// `text` in `style`, if `stream` is coloured.
pub fn paint(stream: &Stream, style: Style, text: &str) -> String {
    if stream.is_coloured { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Prints a warning on stderr, in one line, and only once.
pub fn warn(env: &mut Env, text: &str) {
    env.print_once(text, &format!("{}: {}", paint(&env.err, WARNING, "warning"), visible_line(text)));
}

/// Prints a note on stderr, in one line, and only once.
pub fn note(env: &mut Env, text: &str) {
    env.print_once(text, &format!("{}: {}", paint(&env.err, NOTE, "note"), visible_line(text)));
}

/// Prints `word` in `style`, and a text, on stderr.
pub fn say(env: &mut Env, style: Style, word: &str, text: &str) {
    env.print(&format!("{}: {}", paint(&env.err, style, word), visible(&masked(text))));
}

/// Prints an error and its hint on stderr.
pub fn report(env: &mut Env, error: &Error) {
    match error {
        Error::Arguments(answer) => report_answer(env, answer),
        Error::Child { .. } | Error::Config => {}
        _ => {
            say(env, ERROR, "error", &error.to_string());
            if let Some(hint) = error.hint() {
                say(env, NOTE, "hint", &hint);
            }
        }
    }
}

/// Help and version go to stdout, usage errors to stderr.
fn report_answer(env: &mut Env, answer: &clap::Error) {
    let stream = if answer.use_stderr() { &mut env.err } else { &mut env.out };
    let text = answer.render();
    let text = if stream.is_coloured { text.ansi().to_string() } else { text.to_string() };
    stream.write(text.trim_end()).and_then(|()| stream.write("\n")).and_then(|()| stream.flush()).ok();
}

/// `text` with escapes for everything that moves the cursor, changes colours or reorders letters; line breaks stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            c if is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The same on one line.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Control characters, marks that change the writing direction, line separators and the byte order mark.
pub fn is_invisible(c: char) -> bool {
    let directs =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    (c.is_control() && c != '\n') || directs || breaks
}

/// `1 file`, `2 files`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `text` with line breaks so that no line is longer than `width` characters; longer words stay whole.
pub fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len() + 8);
    let mut column = 0;
    for (index, word) in text.split(' ').enumerate() {
        // The rest of a word that has line breaks of its own.
        let (first, rest) = word.split_once('\n').map_or((word, None), |(first, rest)| (first, Some(rest)));
        let length = first.chars().count();
        if index > 0 && column > 0 && column + 1 + length > width {
            wrapped.push('\n');
            column = 0;
        } else if index > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column =
            rest.map_or(column + length, |rest| rest.rsplit('\n').next().unwrap_or(rest).chars().count());
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(visible("a\u{1b}[31mb\u{9b}0m\u{202e}\tc\nd"), "a\\u{1b}[31mb\\u{9b}0m\\u{202e}\\tc\nd");
        assert_eq!(visible_line("ä\n日本"), "ä\\n日本");
    }

    #[test]
    fn words_are_wrapped() {
        assert_eq!(wrap("one two three four", 8), "one two\nthree\nfour");
        assert_eq!(wrap("one  two\nthree four", 10), "one  two\nthree four");
        assert_eq!(wrap("a-very-long-word x", 5), "a-very-long-word\nx");
    }
}
