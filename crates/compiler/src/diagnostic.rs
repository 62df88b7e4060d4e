//! Findings about the user's configuration: plain data, collected, never thrown.
//!
//! A [`Diagnostic`] points with a JSON Pointer (or, for syntax, with a byte range); offsets become lines and columns only
//! where it is rendered. The meaning of a code is in the document of its [`Rule`].

use std::fmt::{self, Write as _};
use std::ops::Range;

/// The severity of a finding. Only an error makes the configuration unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration cannot be compiled as written.
    Error,
    /// It compiles, but probably does not do what its author expects.
    Warning,
    /// It compiles and is probably meant so. `--deny-warnings` does not count it.
    Note,
}

impl Severity {
    /// The name in every output format.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One kind of mistake: its stable code, and its document, which `explain` and the reference print.
#[derive(Debug)]
pub struct Rule {
    /// The stable name, kebab-case. Never reused for another meaning.
    pub code: &'static str,
    /// The severity of every finding of this kind.
    pub severity: Severity,
    /// The file `docs/rules/CODE.md`: front matter, a paragraph, and two examples.
    document: &'static str,
}

/// The rule with this code.
macro_rules! rule {
    ($code:literal) => {
        $crate::diagnostic::Rule::new(
            $code,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules/", $code, ".md")),
        )
    };
}
pub(crate) use rule;

/// The start of a document, before its severity.
const START: &str = "---\nseverity: ";

impl Rule {
    /// The rule of this document.
    pub const fn new(code: &'static str, document: &'static str) -> Self {
        let severity = match document.as_bytes()[START.len()] {
            b'e' => Severity::Error,
            b'w' => Severity::Warning,
            _ => Severity::Note,
        };
        Self { code, severity, document }
    }

    /// One line: what is wrong.
    pub fn summary(&self) -> &'static str {
        self.between("\nsummary: ", "\n")
    }

    /// A paragraph: why it is wrong, and what happens otherwise.
    pub fn why(&self) -> &'static str {
        self.between("\n---\n\n", "\n\nWrong:")
    }

    /// A configuration fragment that has the mistake.
    pub fn wrong(&self) -> &'static str {
        fenced(self.between("\n\nWrong:\n\n", "\n\nRight:"))
    }

    /// The same fragment without it.
    pub fn right(&self) -> &'static str {
        fenced(self.document.split_once("\n\nRight:\n\n").map_or("", |(_, rest)| rest.trim_end()))
    }

    /// Why it is wrong, with both examples, as Markdown.
    pub fn markdown(&self) -> &'static str {
        self.document.split_once("\n---\n\n").map_or("", |(_, text)| text)
    }

    fn between(&self, start: &str, end: &str) -> &'static str {
        let rest = self.document.split_once(start).map_or("", |(_, rest)| rest);
        rest.split_once(end).map_or("", |(text, _)| text)
    }
}

/// The content of a fenced block.
fn fenced(block: &'static str) -> &'static str {
    let content = block.split_once('\n').map_or("", |(_, rest)| rest);
    content.strip_suffix("\n```").unwrap_or_default()
}

/// Number of bytes that most keys of a configuration fit in.
const KEY_LENGTH: usize = 24;

/// A JSON Pointer (RFC 6901) into the configuration; the empty pointer is the whole document.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

impl Pointer {
    /// The whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// A pointer from its text form, such as `/graphs/agent`.
    pub fn parse(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The pointer to `key` (an object's key or an array's index) under this one.
    #[must_use]
    pub fn join(&self, key: impl fmt::Display) -> Self {
        let start = self.0.len() + "/".len();
        let mut text = String::with_capacity(start + KEY_LENGTH);
        text.push_str(&self.0);
        text.push('/');
        // Writing to a string cannot fail.
        write!(text, "{key}").ok();
        if text[start..].contains(['~', '/']) {
            let escaped = text[start..].replace('~', "~0").replace('/', "~1");
            text.replace_range(start.., &escaped);
        }
        Self(text)
    }

    /// The pointer to the object or array that holds this one; the root has none.
    pub fn parent(&self) -> Option<Self> {
        self.0.rfind('/').map(|cut| Self(self.0[..cut].to_owned()))
    }

    /// This pointer and its parents, innermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// The keys from the root down, unescaped.
    pub fn keys(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"))
    }

    /// Whether this is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(&other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part of the configuration that a finding points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole: it could not be read, or is empty.
    File,
    /// An option of the command line, such as `--base-image`, that replaces a value of the file.
    Option(&'static str),
    /// A byte range of the text, for syntax errors.
    Span(Range<usize>),
    /// The key of the member at this pointer.
    Key(Pointer),
    /// The value at this pointer.
    Value(Pointer),
    /// A byte range of the (unescaped) string at this pointer.
    Within(Pointer, Range<usize>),
}

impl Place {
    /// The pointer, if this is a value as a whole.
    pub fn value(&self) -> Option<&Pointer> {
        match self {
            Place::Value(pointer) => Some(pointer),
            _ => None,
        }
    }

    /// The pointer for machine-readable formats; the root for places without one.
    pub fn pointer(&self) -> Pointer {
        match self {
            Place::File | Place::Option(_) | Place::Span(_) => Pointer::root(),
            Place::Key(pointer) | Place::Value(pointer) | Place::Within(pointer, _) => pointer.clone(),
        }
    }
}

/// A place in another file that belongs to a finding: the part of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The file, relative to the configuration's directory.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The text of that line, so that rendering needs no access to the file.
    pub text: String,
    /// A byte range of `text`.
    pub range: Range<usize>,
    /// A few words about this place, as a lowercase fragment.
    pub label: String,
}

impl Related {
    /// The byte range `span` of `text`, which is the content of the file at `path`. A span over several lines is cut
    /// at the end of its first line. Its line is shown as written, so never use this for an `env` file.
    pub fn new(path: &str, text: &str, span: Range<usize>, label: impl Into<String>) -> Self {
        let at = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end);
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let from = (at - start).min(line.len());
        Self {
            path: path.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            text: line.to_owned(),
            range: from..end.saturating_sub(start).clamp(from, line.len()),
            label: label.into(),
        }
    }

    /// The first and the past-the-end column, from 1, in characters.
    pub fn columns(&self) -> (usize, usize) {
        let column = |offset: usize| self.text[..offset].chars().filter(|&c| c != '\u{feff}').count() + 1;
        (column(self.range.start), column(self.range.end))
    }
}

/// A change of the configuration that corrects a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The changes, each at its place.
    pub edits: Vec<(Place, Edit)>,
    /// Whether nothing else can be meant, so that `validate --fix` makes it unasked.
    pub is_safe: bool,
}

/// A change at a [`Place`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Writes other text: for a key or a part of a string unescaped, otherwise as it is in the file.
    Replace(String),
    /// Removes the text; for a key or value as a whole, the member of the object or the item of the array.
    Remove,
    /// Writes this item or member at the end of the list or object, as it is in the file.
    Add(String),
    /// Writes text before and after.
    Wrap(&'static str, &'static str),
}

impl Edit {
    /// Writes a value that is this string.
    pub fn string(text: &str) -> Self {
        Self::Replace(serde_json::Value::from(text).to_string())
    }

    /// Adds a value that is this string.
    pub fn item(text: &str) -> Self {
        Self::Add(serde_json::Value::from(text).to_string())
    }
}

impl Fix {
    /// A fix that can only be what is meant.
    pub fn safe(place: Place, edit: Edit) -> Self {
        Self { edits: vec![(place, edit)], is_safe: true }
    }

    /// A fix that is probably what is meant.
    pub fn likely(place: Place, edit: Edit) -> Self {
        Self { is_safe: false, ..Self::safe(place, edit) }
    }

    /// Whether it contains text that may come from the configuration.
    pub fn has_text(&self) -> bool {
        self.edits.iter().any(|(_, edit)| matches!(edit, Edit::Add(_) | Edit::Replace(_)))
    }
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The kind of mistake.
    pub rule: &'static Rule,
    /// The severity: that of the rule, but in a command that goes on without the value.
    pub severity: Severity,
    /// Whether only `validate` fails: the other commands lose nothing that they need.
    pub is_dispensable: bool,
    /// What is wrong here: a lowercase fragment, user text in backticks.
    pub message: String,
    /// The part of the configuration that is wrong.
    pub place: Place,
    /// Places in other files where the mistake is or comes from.
    pub related: Vec<Related>,
    /// Whether the mistake is at the first of them, and `place` only leads there.
    pub is_elsewhere: bool,
    /// How to fix it, as an imperative.
    pub help: Option<String>,
    /// The same as a change of the configuration, where it is one.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A finding of the kind `rule` at `place`.
    pub fn new(rule: &'static Rule, place: Place, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            is_dispensable: false,
            message: message.into(),
            place,
            related: Vec::new(),
            is_elsewhere: false,
            help: None,
            fix: None,
        }
    }

    /// Lets only `validate` fail because of it.
    #[must_use]
    pub fn dispensable(mut self) -> Self {
        self.is_dispensable = true;
        self
    }

    /// Adds a line that says how to fix it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the change that fixes it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<Option<Fix>>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Adds the change of its place that fixes it, where nothing else can be meant.
    #[must_use]
    pub fn safe_fix(self, edit: Edit) -> Self {
        let fix = Fix::safe(self.place.clone(), edit);
        self.fix(fix)
    }

    /// Adds the change of its place that probably fixes it.
    #[must_use]
    pub fn likely_fix(self, edit: Edit) -> Self {
        let fix = Fix::likely(self.place.clone(), edit);
        self.fix(fix)
    }

    /// Adds a place in another file.
    #[must_use]
    pub fn related(mut self, place: Related) -> Self {
        self.related.push(place);
        self
    }

    /// Adds the place in another file where the mistake is.
    #[must_use]
    pub fn mistake(mut self, place: Related) -> Self {
        self.is_elsewhere = true;
        self.related(place)
    }

    /// Whether `other` is the same mistake in another place.
    pub fn is_repeated_by(&self, other: &Self) -> bool {
        let is_same = self.rule.code == other.rule.code && self.place == other.place;
        is_same && self.is_elsewhere && other.is_elsewhere
    }

    /// Adds the places of such a finding, with what it says.
    pub fn absorb(&mut self, other: Self) {
        let help = other.help.filter(|help| self.help.as_ref() != Some(help));
        let label = help.map_or(other.message.clone(), |help| format!("{}; {help}", other.message));
        self.related.extend(other.related.into_iter().map(|place| Related { label: label.clone(), ..place }));
    }

    /// The fix, if it is safe.
    pub fn safe(&self) -> Option<&Fix> {
        self.fix.as_ref().filter(|fix| fix.is_safe)
    }

    /// Whether `validate` fails because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether this finding makes the configuration unusable.
    pub fn is_fatal(&self) -> bool {
        self.is_error() && !self.is_dispensable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_related_place_is_part_of_one_line() {
        let text = "\u{feff}a = 1\r\nä = (\r\nb";
        let whole = |span: Range<usize>| {
            let place = Related::new("a.py", text, span, "");
            (place.line, place.columns(), place.text)
        };
        let at = |part: &str| text.find(part).unwrap();
        assert_eq!(whole(3..4), (1, (1, 2), "\u{feff}a = 1".to_owned()));
        assert_eq!(whole(at("(")..text.len()), (2, (5, 6), "ä = (".to_owned()));
        assert_eq!(whole(at("\nb")..at("\nb") + 1), (2, (6, 6), "ä = (".to_owned()));
        assert_eq!(whole(999..999), (3, (2, 2), "b".to_owned()));
        assert_eq!(Related::new("a.py", "", 0..0, "").line, 1);
    }
}
