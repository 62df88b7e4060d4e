//! Stack space for parsers that recurse: the nesting of a text is up to its author and must not exhaust the stack.

/// Stack that one level of nesting takes at most, in bytes: the deepest construct of either parser, unoptimised.
const LEVEL: usize = 16 * 1024;

/// Stack for flat text, in bytes.
const BASE: usize = 1024 * 1024;

/// Maximum number of levels.
const MAX_LEVELS: usize = 8 * 1024;

/// Runs `read`, which parses `text`, with enough stack for the nesting of `text`. Returns `None` if that is too deep, or
/// if there is not enough memory.
pub(crate) fn with_stack_for<T>(text: &str, read: impl FnOnce() -> T) -> Option<T> {
    let mut nesting = Nesting::default();
    text.lines().for_each(|line| nesting.line(line));
    let size = BASE + LEVEL * nesting.max;
    // stacker panics if it cannot allocate a stack, which it does where too little is left of this one.
    let is_left = || stacker::remaining_stack().is_some_and(|left| left >= size);
    let is_available = || is_left() || Vec::<u8>::new().try_reserve_exact(size).is_ok();
    (nesting.max <= MAX_LEVELS && is_available()).then(|| stacker::maybe_grow(size, size, read))
}

/// Runs `read`, which recurses to a limited depth, with `size` bytes of stack. Returns `None` if there is not enough memory.
pub(crate) fn with_stack<T>(size: usize, read: impl FnOnce() -> T) -> Option<T> {
    let is_available = Vec::<u8>::new().try_reserve_exact(size).is_ok();
    is_available.then(|| stacker::maybe_grow(size, size, read))
}

/// An estimate of the nesting of a text: each open bracket is a level, and so is each sign, and each word after a space,
/// since the last comma, semicolon or line of the same expression. [`BASE`] makes up for levels that it misses.
#[derive(Default)]
struct Nesting {
    /// For each open bracket, the levels between the last separator and the bracket.
    brackets: Vec<usize>,
    /// Levels since the last separator.
    chain: usize,
    /// Current number of levels.
    levels: usize,
    /// Maximum number of levels.
    max: usize,
    /// Whether the last line ends within an expression.
    continues: bool,
}

impl Nesting {
    fn line(&mut self, line: &str) {
        let code = line.trim_start();
        if !self.continues && !code.starts_with(is_operator) {
            self.end_chain();
        }
        // In Python, indentation nests.
        let indentation = line.len() - code.len();
        let mut last = ' ';
        let mut quote = None;
        let mut quoted = 0_usize;
        for c in code.chars() {
            match c {
                _ if last == '\\' => {}
                '"' | '\'' | '`' if quote.is_none() => quote = Some(c),
                '"' | '\'' | '`' if quote == Some(c) => quote = None,
                // The quote may be an apostrophe, or in a string that started before this line.
                '(' | '[' | '{' if quote.is_some() => quoted += 1,
                ')' | ']' | '}' if quote.is_some() => quoted = quoted.saturating_sub(1),
                _ if quote.is_some() => {}
                '(' | '[' | '{' => self.open(),
                ')' | ']' | '}' => self.close(),
                ',' | ';' => self.end_chain(),
                _ if c.is_whitespace() || is_word(c) && !last.is_whitespace() => {}
                _ => {
                    self.chain += 1;
                    self.levels += 1;
                }
            }
            last = if last == '\\' { ' ' } else { c };
            self.max = self.max.max(self.levels + quoted + indentation);
        }
        (0..quoted).for_each(|_| self.open());
        self.continues = code.trim_end().ends_with(is_operator);
    }

    fn open(&mut self) {
        self.brackets.push(self.chain);
        self.chain = 0;
        self.levels += 1;
    }

    fn close(&mut self) {
        if let Some(chain) = self.brackets.pop() {
            // Statements such as `if (a) if (b)` nest after the bracket.
            self.levels -= self.chain;
            self.chain = chain + 1;
        }
    }

    fn end_chain(&mut self) {
        self.levels -= self.chain;
        self.chain = 0;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether an expression that starts or ends a line with `c` continues on the line before or after.
fn is_operator(c: char) -> bool {
    "\\.+-*/%=?:&|^~!@".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_read_and_deep_ones_are_not() {
        let read = |text: &str| with_stack_for(text, || ()).is_some();
        for line in [
            "    {'a': [1, -2], \"b\": (3,)},\n",
            "def f(a, b):\n    return {'x': a + b, \"it's\": [a]}\n\n",
            "const a = (b) => { return `${b}` }\n",
            "  <p className=\"a\">don't (stop) {a}</p>\n",
            "x = y\n",
        ] {
            assert!(read(&format!("graph = [\n{}]\n", line.repeat(20_000))), "{line}");
        }
        for sign in ["(", "[ ", "-", "not ", "x +\n", "`${", "f'{", "if a: "] {
            assert!(!read(&sign.repeat(10_000)), "{sign}");
        }
    }
}
