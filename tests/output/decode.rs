//! A Dockerfile as BuildKit reads it. After `frontend/dockerfile/parser` (parser.go, split_command.go,
//! line_parsers.go) and `frontend/dockerfile/shell/lex.go` of moby/buildkit, word for word, but stricter: an
//! expansion, a here-document or a parser directive in a generated file is a failure.

/// One instruction, with its line continuations resolved.
#[derive(Debug, PartialEq)]
pub(super) struct Instruction {
    pub(super) keyword: String,
    pub(super) flags: Vec<String>,
    pub(super) rest: String,
}

type Decoded<T> = Result<T, String>;

/// Every instruction of a Dockerfile.
pub(super) fn instructions(text: &str) -> Decoded<Vec<Instruction>> {
    let mut lines = text.lines_of_buildkit().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if is_comment(line) {
            if found.is_empty() && is_directive(line) {
                return Err(format!("a parser directive: {line:?}"));
            }
            continue;
        }
        let (mut whole, mut ended) = without_continuation(line.trim_start());
        if ended && whole.is_empty() {
            continue;
        }
        while !ended {
            let Some(next) = lines.next() else { return Err(format!("nothing behind {whole:?}")) };
            if is_comment(next) {
                return Err(format!("a comment within an instruction: {next:?}"));
            }
            if next.trim().is_empty() {
                return Err(format!("an empty line within {whole:?}"));
            }
            let (more, last) = without_continuation(next);
            whole.push_str(&more);
            ended = last;
        }
        found.push(instruction(&whole)?);
    }
    Ok(found)
}

trait Lines {
    fn lines_of_buildkit(&self) -> impl Iterator<Item = &str>;
}

impl Lines for str {
    fn lines_of_buildkit(&self) -> impl Iterator<Item = &str> {
        self.split('\n').map(|line| line.trim_end_matches('\r'))
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// `# name=value` above everything else.
fn is_directive(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches('#').trim_start();
    line.split_once('=').is_some_and(|(name, _)| name.trim_end().chars().all(|c| c.is_ascii_alphanumeric()))
}

/// `([^\\])\\[ \t]*$|^\\[ \t]*$` is cut off.
fn without_continuation(line: &str) -> (String, bool) {
    let trimmed = line.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix('\\') {
        Some(rest) if !rest.ends_with('\\') => (rest.to_owned(), false),
        _ => (line.to_owned(), true),
    }
}

fn instruction(line: &str) -> Decoded<Instruction> {
    let line = line.trim();
    let (keyword, arguments) = line.split_once(['\t', '\u{b}', '\u{c}', '\r', ' ']).unwrap_or((line, ""));
    let (flags, rest) = flags(arguments.trim_start_matches(['\t', '\u{b}', '\u{c}', '\r', ' ']))?;
    let instruction = Instruction { keyword: keyword.to_owned(), flags, rest: rest.trim().to_owned() };
    let takes_documents = matches!(keyword, "RUN" | "COPY" | "ADD");
    if takes_documents && instruction.rest.contains("<<") && json(&instruction.rest).is_none() {
        return Err(format!("a here-document: {line:?}"));
    }
    Ok(instruction)
}

/// The words that start with `--`. They are read byte by byte, so that nothing but ASCII survives.
fn flags(line: &str) -> Decoded<(Vec<String>, &str)> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        if !rest.starts_with("--") {
            return Ok((found, rest));
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let word = &rest[..end];
        if word.contains(['\'', '"', '\\', '$']) || !word.is_ascii() {
            return Err(format!("a flag that is not plain: {word:?}"));
        }
        found.push(word.to_owned());
        rest = &rest[end..];
    }
}

/// An array of strings, where it is one.
pub(super) fn json(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}

/// The words of ENV, in which quotes and escapes are still there.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match quote {
            None if c.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()))
            }
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.push(c);
            }
            Some(open) if c == open => {
                quote = None;
                word.push(c);
            }
            None | Some('"') if c == '\\' => {
                word.push(c);
                word.extend(letters.next());
            }
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// What a word is once quotes are removed and variables are expanded, of which there must be none.
pub(super) fn expanded(word: &str) -> Decoded<String> {
    let mut out = String::new();
    let mut quote = None;
    let mut letters = word.chars().peekable();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None | Some('"'), '$') => return Err(format!("an expansion in {word:?}")),
            (None, '\\') => out.extend(letters.next()),
            (Some('"'), '\\') => match letters.next_if(|next| matches!(next, '"' | '$' | '\\')) {
                Some(next) => out.push(next),
                None => out.push(c),
            },
            _ => out.push(c),
        }
    }
    if quote.is_some() { Err(format!("a quote that is not closed in {word:?}")) } else { Ok(out) }
}

/// The one path that a pattern of Go's `filepath.Match` matches.
fn only_match(pattern: &str) -> Decoded<String> {
    let mut out = String::new();
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        match c {
            '*' | '?' => return Err(format!("a wildcard in {pattern:?}")),
            '\\' => out.extend(letters.next()),
            '[' => {
                let mut one = letters.next();
                if one == Some('\\') {
                    one = letters.next();
                }
                if one.is_none() || one == Some('^') || letters.next() != Some(']') {
                    return Err(format!("a class of several in {pattern:?}"));
                }
                out.extend(one);
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Whether BuildKit takes a source of COPY for a here-document: `^(\d*)<<(-?)([^<]*)$`.
fn is_here_document(source: &str) -> bool {
    let rest = source.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix("<<").is_some_and(|name| !name.contains('<'))
}

pub(super) fn copied(rest: &str) -> Decoded<(Vec<String>, String)> {
    let words = json(rest).unwrap_or_else(|| rest.split_whitespace().map(str::to_owned).collect());
    let words = words.iter().map(|word| expanded(word)).collect::<Decoded<Vec<_>>>()?;
    let (target, patterns) = words.split_last().ok_or("COPY of nothing")?;
    if let Some(document) = patterns.iter().find(|source| is_here_document(source)) {
        return Err(format!("a here-document: {document:?}"));
    }
    let sources = patterns.iter().map(|pattern| only_match(pattern)).collect::<Decoded<Vec<_>>>()?;
    Ok((sources, target.clone()))
}

pub(super) fn environment(rest: &str) -> Decoded<Vec<(String, String)>> {
    let pairs = words(rest).into_iter().map(|word| {
        let (name, value) = word.split_once('=').ok_or(format!("no `=` in {word:?}"))?;
        Ok((name.to_owned(), expanded(value)?))
    });
    pairs.collect()
}
