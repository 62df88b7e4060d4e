//! Stack space for parsers that recurse: the nesting of a text is up to its author and must not exhaust the stack.

/// Stack that one level of nesting takes at most, in bytes: the deepest construct of either parser, unoptimised.
const LEVEL: usize = 16 * 1024;

/// Stack that flat text needs.
const BASE: usize = 128 * 1024;

/// The largest stack to reserve. Only the pages that are used take memory.
const MOST: usize = 1 << 30;

/// Runs `read`, which parses `text`, with enough stack for any nesting that `text` can have. Returns `None` if that
/// would be too much.
pub(super) fn with_stack_for<T>(text: &str, read: impl FnOnce() -> T) -> Option<T> {
    let size = BASE + LEVEL * levels(text);
    (size <= MOST).then(|| stacker::maybe_grow(size, size, read))
}

/// An upper bound of the nesting in `text`: every level starts with a sign, or with a word after a space.
fn levels(text: &str) -> usize {
    let mut last = b' ';
    let starts = text.bytes().filter(|&byte| {
        let is_repeated = byte == last && byte.is_ascii_whitespace();
        last = byte;
        !is_repeated && !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b';' | 0x80..=0xbf)
    });
    starts.count()
}
