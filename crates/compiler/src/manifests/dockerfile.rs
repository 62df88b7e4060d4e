//! Lines of a Dockerfile, split into instructions as BuildKit does.

/// Instructions that can have here-documents.
const WITH_HEREDOC: &[&str] = &["add", "copy", "run"];

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The line with continuation lines joined, without comments and here-documents.
    pub text: String,
    /// The index of its first line.
    pub line: usize,
}

impl Instruction {
    /// The paths that a `COPY` or `ADD` takes from the build context, without those with variables or wildcards. An
    /// `ONBUILD` instruction has none here.
    pub fn sources(&self) -> Vec<String> {
        if !["copy", "add"].contains(&self.keyword().as_str()) {
            return Vec::new();
        }
        let words = words(&self.text);
        let (options, paths): (Vec<_>, Vec<_>) =
            words.iter().skip(1).partition(|word| word.starts_with("--"));
        if options.iter().any(|option| option.starts_with("--from")) {
            return Vec::new();
        }
        // A list in the form of JSON, or words.
        let paths: Vec<String> = paths.iter().flat_map(|word| word.split(',')).map(unquoted).collect();
        let sources = paths.split_last().map_or(&[][..], |(_, sources)| sources);
        let is_plain = |path: &&String| !path.is_empty() && !path.contains(['$', '*', '?', '[', '<', ':']);
        sources.iter().filter(is_plain).cloned().collect()
    }

    /// The images and stages that it starts from, copies from or mounts.
    pub fn stages(&self) -> Vec<String> {
        let words = words(&self.text);
        match self.keyword().as_str() {
            "from" => words.get(1).cloned().into_iter().collect(),
            "copy" | "run" => {
                words.iter().take_while(|word| !is_command(word)).filter_map(|it| stage(it)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The keyword, in lowercase.
    pub fn keyword(&self) -> String {
        self.text.split_whitespace().next().unwrap_or_default().to_lowercase()
    }
}

/// An instruction that the lines do not finish, so that it takes in whatever follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The index of the line that is left open.
    pub line: usize,
    /// The delimiter of the here-document that is not closed; absent for a continued line.
    pub heredoc: Option<String>,
}

/// Whether a word is no longer part of the keyword and the flags of an instruction.
fn is_command(word: &str) -> bool {
    !word.starts_with("--") && !["copy", "run"].contains(&word.to_lowercase().as_str())
}

/// The stage of a flag `--from` or of a mount.
fn stage(flag: &str) -> Option<String> {
    let value = flag.strip_prefix("--from=").or_else(|| {
        let fields = flag.strip_prefix("--mount=")?.split(',');
        fields.into_iter().find_map(|field| field.strip_prefix("from="))
    });
    value.map(str::to_owned)
}

fn unquoted(word: &str) -> String {
    word.trim_matches(['[', ']', '"', '\'']).to_owned()
}

/// Whether `lines` start a stage.
pub fn start_stage(lines: &[String]) -> bool {
    instructions(lines).is_ok_and(|all| all.iter().any(|it| it.keyword() == "from"))
}

/// Splits `lines` into instructions. A line may hold line breaks of its own.
pub fn instructions(lines: &[String]) -> Result<Vec<Instruction>, Unfinished> {
    let mut found = Vec::new();
    let mut lines = lines.iter().enumerate().flat_map(|(index, text)| {
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.split('\n').map(move |line| (index, line.trim_end_matches('\r')))
    });
    while let Some((mut index, line)) = lines.next() {
        let (first, line) = (index, line.trim_start());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (start, mut is_open) = without_continuation(line);
        let mut text = start.to_owned();
        while is_open {
            let Some((next, line)) = lines.next() else {
                return Err(Unfinished { line: index, heredoc: None });
            };
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let (part, continues) = without_continuation(line);
            text.push_str(part);
            (index, is_open) = (next, continues);
        }
        for heredoc in heredocs(&text) {
            let is_end = |line: &str| {
                heredoc.delimiter == if heredoc.strips_tabs { line.trim_start_matches('\t') } else { line }
            };
            if !lines.any(|(_, line)| is_end(line)) {
                return Err(Unfinished { line: index, heredoc: Some(heredoc.delimiter) });
            }
        }
        found.push(Instruction { text, line: first });
    }
    Ok(found)
}

/// A line without the `\` that continues it, and whether it has one. An escaped backslash does not count.
fn without_continuation(line: &str) -> (&str, bool) {
    match line.trim_end_matches([' ', '\t']).strip_suffix('\\') {
        Some(start) if !start.ends_with('\\') => (start, true),
        _ => (line, false),
    }
}

struct Heredoc {
    delimiter: String,
    strips_tabs: bool,
}

fn heredocs(instruction: &str) -> Vec<Heredoc> {
    let mut words = words(instruction).into_iter().map(|word| word.to_lowercase());
    let keyword = words.find(|word| word != "onbuild").unwrap_or_default();
    let is_list = words.next().is_some_and(|word| word.starts_with('['));
    if !WITH_HEREDOC.contains(&keyword.as_str()) || is_list {
        return Vec::new();
    }
    self::words(instruction).iter().filter_map(|word| heredoc(word)).collect()
}

/// `<<EOF`, with a file descriptor before it or a dash after it, and quotes around the delimiter.
fn heredoc(word: &str) -> Option<Heredoc> {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
    let (rest, strips_tabs) = rest.strip_prefix('-').map_or((rest, false), |rest| (rest, true));
    let delimiter = rest.replace(['"', '\'', '\\'], "");
    (!delimiter.is_empty() && !rest.contains('<')).then_some(Heredoc { delimiter, strips_tabs })
}

/// Words as a shell splits them, with their quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            (_, None) if letter.is_whitespace() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                continue;
            }
            _ => {}
        }
        word.push(letter);
        if letter == '\\' && quote != Some('\'') {
            word.extend(letters.next());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Vec<String>, Unfinished> {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        instructions(&lines).map(|all| all.into_iter().map(|it| it.text).collect())
    }

    #[test]
    fn finished_instructions() {
        for (lines, expected) in [
            (&["RUN a", "  COPY b c"][..], &["RUN a", "COPY b c"][..]),
            (&["RUN a \\", "# comment \\", "", "  && b"], &["RUN a   && b"]),
            (&["RUN a \\ \t\n && b\nRUN c\r\n"], &["RUN a  && b", "RUN c"]),
            (&["# C:\\dir\\", "RUN echo \\\\"], &["RUN echo \\\\"]),
            (&["RUN <<EOF", "x \\", "# y", "EOF", "RUN z"], &["RUN <<EOF", "RUN z"]),
            (&["COPY <<-'A B' <<B /x/", "1", "\tA B", "2", "B"], &["COPY <<-'A B' <<B /x/"]),
            (&["RUN echo '<<EOF' \"<<X\" 1<2 a<<b"], &["RUN echo '<<EOF' \"<<X\" 1<2 a<<b"]),
            (&["ENV A=<<EOF", "RUN [\"<<EOF\"]"], &["ENV A=<<EOF", "RUN [\"<<EOF\"]"]),
        ] {
            assert_eq!(read(lines).unwrap(), expected, "{lines:?}");
        }
    }

    #[test]
    fn unfinished_instructions() {
        let heredoc = |name: &str| Some(name.to_owned());
        for (lines, line, expected) in [
            (&["RUN a", "RUN b \\"][..], 1, None),
            (&["RUN a \\", ""], 0, None),
            (&["RUN a \\", "# done"], 0, None),
            (&["RUN a \\", " b \\ "], 1, None),
            (&["\\"], 0, None),
            (&["RUN <<EOF", "x"], 0, heredoc("EOF")),
            (&["RUN <<EOF", "\tEOF"], 0, heredoc("EOF")),
            (&["RUN a \\", " 3<<-\"E\" \\", "", "b", "EOF"], 3, heredoc("E")),
        ] {
            assert_eq!(read(lines).unwrap_err(), Unfinished { line, heredoc: expected }, "{lines:?}");
        }
    }
}
