//! The marked blocks of a page, and the comparison of what a command prints with what its block shows.

use std::iter::Enumerate;
use std::str::Lines;

use regex_lite::Regex;

/// The steps of a page, in order.
pub(super) enum Step {
    /// Writes a file.
    File {
        /// Relative to the current directory of the shell.
        path: String,
        contents: String,
    },
    Run(Block),
}

/// A console block.
#[derive(Default)]
pub(super) struct Block {
    pub(super) commands: Vec<Shown>,
    /// Whether it needs what `tests/run` sets up.
    pub(super) is_system: bool,
    /// Whether the last command runs until the end of the page.
    pub(super) is_background: bool,
    /// The exit code of the last command.
    pub(super) code: i32,
}

/// A command and the lines that it prints.
pub(super) struct Shown {
    pub(super) line: usize,
    pub(super) command: String,
    pub(super) expected: Vec<String>,
}

/// The marked blocks of a page. An error begins with its line.
pub(super) fn steps(page: &str) -> Result<Vec<Step>, String> {
    let mut lines = page.lines().enumerate();
    let mut steps = Vec::new();
    let mut is_code = false;
    while let Some((index, line)) = lines.next() {
        is_code ^= line.starts_with("```");
        let Some(mark) = line.strip_prefix("<!-- ").filter(|_| !is_code) else { continue };
        let number = index + 1;
        let closed = mark.strip_suffix(" -->");
        if let Some(path) = closed.and_then(|mark| mark.strip_prefix("file: ")) {
            let contents = fenced(&mut lines, number)?.into_iter().map(|(_, line)| format!("{line}\n"));
            steps.push(Step::File { path: path.to_owned(), contents: contents.collect() });
        } else if let Some(words) = closed.unwrap_or(mark).strip_prefix("run") {
            let mut block = Block::marked(words).map_err(|error| format!("{number}: {error}"))?;
            let shown = match closed {
                Some(_) => fenced(&mut lines, number)?,
                None => until(&mut lines, "-->", number)?,
            };
            block.commands = commands(shown)?;
            steps.push(Step::Run(block));
        }
    }
    Ok(steps)
}

type Numbered<'a> = Vec<(usize, &'a str)>;

/// The lines of the fenced block that begins in the next line.
fn fenced<'a>(lines: &mut Enumerate<Lines<'a>>, number: usize) -> Result<Numbered<'a>, String> {
    let is_fence = lines.next().is_some_and(|(_, line)| line.starts_with("```"));
    if is_fence {
        until(lines, "```", number)
    } else {
        Err(format!("{number}: no fenced block after the mark"))
    }
}

fn until<'a>(lines: &mut Enumerate<Lines<'a>>, end: &str, number: usize) -> Result<Numbered<'a>, String> {
    let mut found = Vec::new();
    for (index, line) in lines {
        if line == end {
            return Ok(found);
        }
        found.push((index + 1, line));
    }
    Err(format!("{number}: the block does not end"))
}

fn commands(lines: Numbered<'_>) -> Result<Vec<Shown>, String> {
    let mut commands: Vec<Shown> = Vec::new();
    for (line, text) in lines {
        match (text.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                commands.push(Shown { line, command: command.to_owned(), expected: Vec::new() });
            }
            (None, Some(last)) if last.expected.is_empty() && last.command.ends_with('\\') => {
                last.command = format!("{}\n{text}", last.command);
            }
            (None, Some(last)) => last.expected.push(text.to_owned()),
            (None, None) => return Err(format!("{line}: output without a command")),
        }
    }
    Ok(commands)
}

impl Block {
    /// With the words of its mark, such as `: system exit 1`.
    fn marked(words: &str) -> Result<Self, String> {
        let mut block = Self::default();
        let mut words = words.trim_start_matches(':').split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "system" => block.is_system = true,
                "background" => block.is_background = true,
                "exit" => {
                    let code = words.next().and_then(|code| code.parse().ok());
                    block.code = code.ok_or("no exit code after `exit`")?;
                }
                _ => return Err(format!("unknown mark `{word}`")),
            }
        }
        Ok(block)
    }
}

impl Shown {
    /// With `change` made to its texts.
    pub(super) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let expected = self.expected.iter().map(|line| change(line)).collect();
        Self { line: self.line, command: change(&self.command), expected }
    }

    pub(super) fn matches(&self, actual: &str) -> bool {
        self.compare(actual, None)
    }

    /// Whether the expected lines are those that `actual` begins with.
    pub(super) fn begins(&self, actual: &str) -> bool {
        self.compare(actual, Some("..."))
    }

    /// Notes depend on the machine, and may be left out.
    fn compare(&self, actual: &str, end: Option<&str>) -> bool {
        let is_note = |line: &&str| line.starts_with("note: ");
        let expected: Vec<&str> = self.expected.iter().map(String::as_str).chain(end).collect();
        let has_notes = expected.iter().any(is_note);
        let actual: Vec<&str> = actual.lines().filter(|line| has_notes || !is_note(line)).collect();
        lines_match(&expected, &actual)
    }

    pub(super) fn mismatch(&self, name: &str, actual: &str) -> String {
        format!("{name}\nexpected:\n{}\nactual:\n{actual}", self.expected.join("\n"))
    }
}

/// A line `...` matches any lines.
fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((&"...", rest)) => (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..])),
        Some((line, rest)) => actual
            .split_first()
            .is_some_and(|(found, others)| line_matches(line, found) && lines_match(rest, others)),
    }
}

/// `…` matches any text. Durations, sizes, UUIDs and digests are different in each run.
fn line_matches(expected: &str, actual: &str) -> bool {
    let (expected, actual) = (normal(expected), normal(actual));
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| actual.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn normal(line: &str) -> String {
    let id = Regex::new("[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
    let amount = Regex::new(r"\d+(\.\d+)?( (ms|s|min|B|kB|MB)|s)\b").unwrap();
    let line = id.replace_all(line, "ID");
    amount.replace_all(&line, "AMOUNT").trim_end().to_owned()
}
