//! `.dockerignore`: which paths it excludes from the build context, with Docker's semantics.
//!
//! They differ from gitignore's: a pattern is anchored at the context's root, `**` crosses directories, and the last
//! pattern that matches a path or a directory above it decides. This follows moby's `patternmatcher` and the walk of
//! BuildKit's client exactly, quirks included, so that the context is the same as that of `docker build`.

mod credentials;
mod expression;
mod pattern;

pub use credentials::{CREDENTIALS, is_credential, naming_credentials, secret_exception};
use pattern::{Pattern, SPECIAL_IN_EXPRESSION, clean};

/// Ignored unless a .dockerignore of the project includes it again.
pub const DEFAULT_IGNORE: &[&str] = &[
    "**/.hg",
    "**/.svn",
    "**/.venv",
    "**/venv",
    "**/node_modules",
    "**/__pycache__",
    "**/*.pyc",
    "**/*.egg-info",
    "**/.mypy_cache",
    "**/.pytest_cache",
    "**/.ruff_cache",
    "**/.tox",
    "**/.nox",
    "**/.cache",
    "**/.DS_Store",
];

/// Always ignored: the state and the environments of `dev`, and locks of images, which say nothing that an image needs.
pub const ALWAYS_IGNORED: &[&str] = &["**/.langgraph_api", "**/.agentcli", "**/agent.lock"];

/// Whether a line is one of every build context, and says nothing of a project.
pub fn is_of_every_project(line: &str) -> bool {
    [DEFAULT_IGNORE, CREDENTIALS, ALWAYS_IGNORED].iter().any(|lines| lines.contains(&line))
}

/// The most patterns of ignore files together: each is compared with each path.
const MAX_PATTERNS: usize = 10_000;

/// The most bytes of a pattern, which is the longest path on Linux.
const MAX_PATTERN: usize = 4096;

/// An invalid line of an ignore file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{pattern}` is not a valid pattern: {reason}")]
pub struct IgnoreError {
    /// The line, from 1.
    pub line: usize,
    /// The line without white space around it.
    pub pattern: String,
    /// Why it is invalid.
    pub reason: String,
}

/// The compiled patterns of an ignore file.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    patterns: Vec<Pattern>,
}

/// The patterns that matched a directory or one above it; [`Ignore::step`] needs it for the entries below.
#[derive(Clone, Debug, Default)]
pub struct Trail(Vec<bool>);

impl Ignore {
    /// Compiles the text of a `.dockerignore` file.
    ///
    /// # Errors
    ///
    /// The first line that Docker refuses, or that is too much to compare all paths with.
    pub fn parse(text: &str) -> Result<Self, IgnoreError> {
        let mut patterns = Vec::new();
        for (line, source) in lines(text) {
            let start = || source.trim().chars().take(80).collect();
            let error = |reason| IgnoreError { line, pattern: start(), reason };
            if source.len() > MAX_PATTERN {
                return Err(error(format!("it has more than {MAX_PATTERN} bytes")));
            }
            if patterns.len() == MAX_PATTERNS {
                return Err(error(format!("these are more than {MAX_PATTERNS} patterns together")));
            }
            patterns.extend(normalised(source).map(|text| Pattern::parse(&text)).transpose().map_err(error)?);
        }
        Ok(Self { patterns })
    }

    /// Whether `path`, relative to the context's root and separated by `/`, is excluded.
    pub fn excludes(&self, path: &str) -> bool {
        let mut trail = Trail::default();
        let mut excluded = false;
        for end in path.match_indices('/').map(|(at, _)| at).chain([path.len()]) {
            (excluded, trail) = self.step(&trail, &path[..end]);
        }
        excluded
    }

    /// Whether `path` is excluded, given the trail of its parent directory (the default for entries of the root), and its
    /// own trail. A walk that keeps the trails does not match each parent again.
    pub fn step(&self, parent: &Trail, path: &str) -> (bool, Trail) {
        let mut excluded = false;
        let mut matched = vec![false; self.patterns.len()];
        for (index, pattern) in self.patterns.iter().enumerate() {
            // Docker skips a pattern that could not change the answer, and does not remember it for the entries
            // below: `foo/*` followed by `!foo` excludes `foo/x`.
            let above = parent.0.get(index).copied().unwrap_or(false);
            if above || (pattern.exception == excluded && pattern.matches(path)) {
                matched[index] = true;
                excluded = !pattern.exception;
            }
        }
        (excluded, Trail(matched))
    }

    /// Includes `path` again.
    pub fn include(&mut self, path: &str) {
        self.patterns.extend(Pattern::parse(&format!("!{}", escaped(path))));
    }

    /// Whether an exception may include something below the excluded directory `dir`. If not, it need not be walked.
    pub fn may_include_below(&self, dir: &str) -> bool {
        let below = |pattern: &Pattern| {
            let fixed = pattern.without_trailing_glob();
            let reaches =
                fixed.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            reaches || fixed.contains(['*', '[', ']', '?', '^', '\\'])
        };
        self.exceptions().any(below)
    }

    /// The patterns of `text`, the ignore file of the directory `prefix`, for an ignore file in the root that `prefix` is
    /// relative to. `prefix` is separated by `/`, without `.` or `..`.
    ///
    /// Comments and lines that cannot match are removed; invalid lines are kept.
    pub fn rebased(text: &str, prefix: &str) -> String {
        let prefix = escaped(prefix);
        let mut rebased = String::new();
        for line in lines(text).filter_map(|(_, line)| normalised(line)) {
            let (mark, pattern) = line.strip_prefix('!').map_or(("", &*line), |rest| ("!", rest));
            if pattern == "." || pattern == ".." || pattern.starts_with("../") || pattern == "/" {
                continue;
            }
            let pattern = Pattern::parse(&line).map_or_else(|_| pattern.to_owned(), |p| p.relative());
            rebased.push_str(&format!("{mark}{prefix}/{pattern}\n"));
        }
        rebased
    }

    fn exceptions(&self) -> impl Iterator<Item = &Pattern> {
        self.patterns.iter().filter(|pattern| pattern.exception)
    }
}

/// The lines that are not comments, with their numbers from 1. A `#` counts in the first column only.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).map(|(index, line)| (index + 1, line))
}

/// A line as Docker passes it to its matcher: trimmed, cleaned, relative to the root. `None` for an empty line.
fn normalised(line: &str) -> Option<String> {
    let line = line.trim();
    let (mark, pattern) = line.strip_prefix('!').map_or(("", line), |rest| ("!", rest.trim()));
    if line.is_empty() {
        return None;
    }
    let mut pattern = if pattern.is_empty() { String::new() } else { clean(pattern) };
    if pattern.len() > 1 && pattern.starts_with('/') {
        pattern.remove(0);
    }
    let whole = format!("{mark}{pattern}");
    let whole = whole.trim();
    (!whole.is_empty()).then(|| clean(whole))
}

/// A pattern that matches `path` only, with `?` for characters that a line cannot hold.
pub fn escaped(path: &str) -> String {
    let last = path.chars().count().saturating_sub(1);
    let letters = path.chars().enumerate().flat_map(|(at, c)| match c {
        c if c.is_control() || c.is_whitespace() && (at == 0 || at == last) => [None, Some('?')],
        '\\' | '*' | '?' | '[' => [Some('\\'), Some(c)],
        c if SPECIAL_IN_EXPRESSION.contains(&c) => [Some('\\'), Some(c)],
        '#' | '!' if at == 0 => [Some('\\'), Some(c)],
        c => [None, Some(c)],
    });
    letters.flatten().collect()
}
