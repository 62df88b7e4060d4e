//! Sets of characters: `[a-z]`, `[^/]`, `\d`, a single letter.

/// A set of characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    ranges: Vec<(char, char)>,
    negated: bool,
}

/// What may stand as `[:name:]` in brackets: pairs of first and last.
const NAMED: &[(&str, &str)] = &[
    ("alnum", "09AZaz"),
    ("alpha", "AZaz"),
    ("ascii", "\x00\x7f"),
    ("blank", "\t\t  "),
    ("cntrl", "\x00\x1f\x7f\x7f"),
    ("digit", "09"),
    ("graph", "!~"),
    ("lower", "az"),
    ("print", " ~"),
    ("punct", "!/:@[`{~"),
    ("space", "\t\r  "),
    ("upper", "AZ"),
    ("word", "09AZaz__"),
    ("xdigit", "09AFaf"),
];

impl Class {
    /// Just this letter.
    pub(super) fn only(letter: char) -> Self {
        Self { ranges: vec![(letter, letter)], negated: false }
    }

    /// Every character but a line feed.
    pub(super) fn no_line_break() -> Self {
        Self { ranges: vec![('\n', '\n')], negated: true }
    }

    /// Every character.
    pub(super) fn all() -> Self {
        Self { ranges: Vec::new(), negated: true }
    }

    /// The letter, where the set has only one.
    pub(super) fn letter(&self) -> Option<char> {
        match self.ranges[..] {
            [(first, last)] if first == last && !self.negated => Some(first),
            _ => None,
        }
    }

    /// Whether `letter` is in the set.
    pub(super) fn contains(&self, letter: char) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&letter)) != self.negated
    }

    /// The set that a bracket opens; `rest` stands behind the `[` and is moved behind the `]`.
    pub(super) fn parse(rest: &mut &str) -> Result<Self, String> {
        let negated = take(rest, "^");
        let mut ranges = Vec::new();
        loop {
            if !ranges.is_empty() && take(rest, "]") {
                return Ok(Self { ranges, negated });
            }
            if rest.starts_with("[:") && rest[2..].contains(":]") {
                ranges.extend(named(rest)?);
                continue;
            }
            let first = member(rest)?;
            let Some(low) = first.letter() else {
                ranges.extend(first.positive());
                continue;
            };
            let high = if rest.starts_with('-') && !rest.starts_with("-]") {
                *rest = &rest[1..];
                member(rest)?.letter().ok_or_else(|| "a range in brackets has no end".to_owned())?
            } else {
                low
            };
            if high < low {
                return Err(format!("the range `{low}-{high}` is upside down"));
            }
            ranges.push((low, high));
        }
    }

    /// The set that an escape stands for; `rest` stands behind the `\` and is moved behind the escape.
    pub(super) fn escape(rest: &mut &str) -> Result<Self, String> {
        let letter = rest.chars().next().ok_or("nothing follows a `\\`")?;
        *rest = &rest[letter.len_utf8()..];
        Ok(match letter {
            'a' => Self::only('\x07'),
            'd' | 'D' => Self { ranges: pairs("09"), negated: letter == 'D' },
            'f' => Self::only('\x0c'),
            'n' => Self::only('\n'),
            'r' => Self::only('\r'),
            's' | 'S' => Self { ranges: pairs("\t\n\x0c\r  "), negated: letter == 'S' },
            't' => Self::only('\t'),
            'v' => Self::only('\x0b'),
            'w' | 'W' => Self { ranges: pairs("09AZaz__"), negated: letter == 'W' },
            letter if letter.is_ascii() && !letter.is_ascii_alphanumeric() => Self::only(letter),
            letter => return Err(format!("`\\{letter}` has no meaning; directories are separated by `/`")),
        })
    }

    /// The same set without negation.
    fn positive(self) -> Vec<(char, char)> {
        if !self.negated {
            return self.ranges;
        }
        let mut gaps = Vec::new();
        let mut next = Some('\0');
        for (first, last) in self.ranges {
            let from = next.unwrap_or(char::MAX);
            if from < first {
                gaps.extend((from..first).last().map(|end| (from, end)));
            }
            next = (last..=char::MAX).nth(1);
        }
        gaps.extend(next.map(|from| (from, char::MAX)));
        gaps
    }
}

/// One member of a bracket, or the first half of a range.
fn member(rest: &mut &str) -> Result<Class, String> {
    let letter = rest.chars().next().ok_or("a `[` is not closed")?;
    *rest = &rest[letter.len_utf8()..];
    if letter == '\\' { Class::escape(rest) } else { Ok(Class::only(letter)) }
}

/// A `[:name:]` or `[:^name:]`.
fn named(rest: &mut &str) -> Result<Vec<(char, char)>, String> {
    let end = rest.find(":]").unwrap_or(rest.len());
    let name = rest.get(2..end).unwrap_or_default();
    let (negated, plain) = name.strip_prefix('^').map_or((false, name), |plain| (true, plain));
    let known = NAMED.iter().find(|(known, _)| *known == plain);
    let (_, text) = known.ok_or_else(|| format!("`[:{name}:]` is not a class of characters"))?;
    *rest = &rest[end + 2..];
    Ok(Class { ranges: pairs(text), negated }.positive())
}

fn pairs(text: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(2).map(|pair| (pair[0], pair[pair.len() - 1])).collect()
}

fn take(rest: &mut &str, what: &str) -> bool {
    let Some(behind) = rest.strip_prefix(what) else { return false };
    *rest = behind;
    true
}
