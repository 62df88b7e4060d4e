//! Characters that an editor does not show, or shows as a plain space, and that a language does not allow.

use super::Broken;

/// The common ones, with their names.
const NAMES: &[(char, &str)] = &[
    ('\u{a0}', "no-break space"),
    ('\u{ad}', "soft hyphen"),
    ('\u{200b}', "zero-width space"),
    ('\u{200c}', "zero-width non-joiner"),
    ('\u{200d}', "zero-width joiner"),
    ('\u{200e}', "left-to-right mark"),
    ('\u{200f}', "right-to-left mark"),
    ('\u{202f}', "narrow no-break space"),
    ('\u{2060}', "word joiner"),
    ('\u{3000}', "ideographic space"),
    ('\u{feff}', "byte order mark"),
];

/// The syntax error `error` in `text`, in words about the invisible character that it starts at, if there is one.
pub(super) fn explain(text: &str, error: Broken) -> Broken {
    let start = text.floor_char_boundary(error.span.start);
    let character = text[start..].chars().next();
    let Some((character, name)) = NAMES.iter().find(|(one, _)| Some(*one) == character) else { return error };
    let message = format!("invisible character U+{:04X}, {name}", u32::from(*character));
    let span = start..start + character.len_utf8();
    Broken { message, span, help: Some("delete the character, or write a plain space".to_owned()) }
}
