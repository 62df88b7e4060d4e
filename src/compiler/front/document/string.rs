//! JSON string escapes: decoding, and mapping decoded offsets to raw ones.

/// A character or escape of a raw string.
pub(super) struct Unit {
    /// Bytes in the raw text.
    pub(super) raw: usize,
    /// The character, or what is wrong with it.
    pub(super) decoded: Result<char, &'static str>,
}

/// The first unit of `rest`, which is not empty.
pub(super) fn unit(rest: &str) -> Unit {
    let first = rest.chars().next().unwrap_or('\0');
    if first != '\\' {
        let decoded = if first < ' ' { Err("a control character") } else { Ok(first) };
        return Unit { raw: first.len_utf8(), decoded };
    }
    let Some(escape) = rest[1..].chars().next() else { return Unit { raw: 1, decoded: Err("an escape") } };
    let simple = match escape {
        '"' | '\\' | '/' => escape,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(rest),
        _ => return Unit { raw: 1 + escape.len_utf8(), decoded: Err("an unknown escape") },
    };
    Unit { raw: 2, decoded: Ok(simple) }
}

/// `\uXXXX`, or a surrogate pair of two.
fn unicode(rest: &str) -> Unit {
    let Some(high) = hex4(rest) else { return Unit { raw: 2, decoded: Err("an incomplete `\\u` escape") } };
    if let Some(character) = char::from_u32(high) {
        return Unit { raw: 6, decoded: Ok(character) };
    }
    let low = rest.get(6..).and_then(hex4);
    let pair = low.and_then(|low| char::decode_utf16([high as u16, low as u16]).next()?.ok());
    match pair {
        Some(character) => Unit { raw: 12, decoded: Ok(character) },
        None => Unit { raw: 6, decoded: Err("half of a surrogate pair") },
    }
}

fn hex4(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

/// The offset in the string literal `raw` (quotes included) of the byte `offset` of the decoded string.
pub(super) fn raw_offset(raw: &str, offset: usize) -> usize {
    if !raw.contains('\\') {
        return (offset + 1).min(raw.len().saturating_sub(1));
    }
    let (mut at, mut decoded) = (1, 0);
    while decoded < offset && at < raw.len().saturating_sub(1) {
        let unit = unit(&raw[at..]);
        at += unit.raw;
        decoded += unit.decoded.map_or(0, char::len_utf8);
    }
    at
}
