//! JSON string escapes: decoding, and mapping offsets in decoded strings to the text.

/// A character or escape of a raw string.
pub(super) struct Unit {
    /// Bytes in the raw text.
    pub(super) raw: usize,
    /// The character, or the mistake.
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

/// The escapes of a text that are longer than their characters, in order.
#[derive(Debug, Default)]
pub(super) struct Escapes(Vec<Escape>);

#[derive(Clone, Copy, Debug, Default)]
struct Escape {
    /// The offset after it.
    end: usize,
    /// Number of bytes that decoding removes from the text before `end`.
    removed: usize,
}

impl Escapes {
    /// Adds an escape that ends at `end`, unless it is known: the parser may read a string twice.
    pub(super) fn add(&mut self, end: usize, removed: usize) {
        let last = self.0.last().copied().unwrap_or_default();
        if removed > 0 && end > last.end {
            self.0.push(Escape { end, removed: last.removed + removed });
        }
    }

    /// The offset in the text of the byte `offset` of the decoded string that starts at `start` in the text.
    pub(super) fn raw_offset(&self, start: usize, offset: usize) -> usize {
        let first = self.0.partition_point(|escape| escape.end <= start);
        let before = self.removed(first);
        let within = &self.0[first..];
        let passed = within.partition_point(|it| it.end - start - (it.removed - before) <= offset);
        start + offset + self.removed(first + passed) - before
    }

    /// Number of bytes that the first `count` escapes remove.
    fn removed(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.0[last].removed)
    }
}
