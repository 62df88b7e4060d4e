//! What a check says about the user's configuration: plain data, collected, never thrown.
//!
//! A [`Diagnostic`] points with a JSON Pointer (or, for syntax, a byte range); offsets become lines and
//! columns only where it is drawn. What a code means stands in its [`Rule`], beside the check that uses it.

use std::fmt;
use std::ops::Range;

/// How bad a finding is. An error makes the configuration unusable, a warning does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration cannot be compiled as written.
    Error,
    /// It compiles, and probably does not do what its author expects.
    Warning,
}

impl Severity {
    /// The word that every output format prints.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One kind of mistake: its stable code and everything that `explain` and the documentation say of it.
#[derive(Debug)]
pub struct Rule {
    /// The stable name, kebab-case. Never reused for another meaning.
    pub code: &'static str,
    /// How bad a finding of this kind is.
    pub severity: Severity,
    /// One line: what is wrong.
    pub summary: &'static str,
    /// A paragraph: why it is wrong, and what happens otherwise.
    pub why: &'static str,
    /// A configuration fragment that has the mistake.
    pub wrong: &'static str,
    /// The same fragment without it.
    pub right: &'static str,
}

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
        let key = key.to_string().replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{key}", self.0))
    }

    /// The pointer to what holds this one; the root has none.
    pub fn parent(&self) -> Option<Self> {
        self.0.rfind('/').map(|cut| Self(self.0[..cut].to_owned()))
    }

    /// This one and everything that holds it, from the inside out.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// The keys from the root down, unescaped.
    pub fn keys(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"))
    }

    /// Whether this is `other` or stands below it.
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

/// Where in the configuration a finding points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole: it could not be read, or holds nothing.
    File,
    /// A byte range of the text: for syntax, where there is no tree to point into.
    Span(Range<usize>),
    /// The key of the member at this pointer.
    Key(Pointer),
    /// The value at this pointer.
    Value(Pointer),
    /// A byte range of the (unescaped) string at this pointer.
    Within(Pointer, Range<usize>),
}

impl Place {
    /// The value that is meant as a whole.
    pub fn value(&self) -> Option<&Pointer> {
        match self {
            Place::Value(pointer) => Some(pointer),
            _ => None,
        }
    }

    /// The pointer that machine-readable formats name; the root for places without one.
    pub fn pointer(&self) -> Pointer {
        match self {
            Place::File | Place::Span(_) => Pointer::root(),
            Place::Key(pointer) | Place::Value(pointer) | Place::Within(pointer, _) => pointer.clone(),
        }
    }
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The kind of mistake.
    pub rule: &'static Rule,
    /// What is wrong here: a lowercase fragment, user text in backticks.
    pub message: String,
    /// Where.
    pub place: Place,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding of the kind `rule` at `place`.
    pub fn new(rule: &'static Rule, place: Place, message: impl Into<String>) -> Self {
        Self { rule, message: message.into(), place, help: None }
    }

    /// The same finding with a line that says what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether this finding makes the configuration unusable.
    pub fn is_error(&self) -> bool {
        self.rule.severity == Severity::Error
    }
}
