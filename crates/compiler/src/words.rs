//! Words in messages: lists of names, and near misses; and names of variables.

use std::collections::BTreeSet;

/// The candidate that `word` is most likely a misspelling of.
pub fn similar<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, candidates).map(|(_, candidate)| candidate)
}

/// The same with the number of edits between the two, ignoring the case of ASCII letters, `-`, `_` and blanks.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let word: String = letters(word).collect();
    let budget = (word.chars().count() / 3).clamp(1, 3);
    let counts = counts(&word);
    let near = candidates.filter_map(|candidate| {
        if least_edits(&counts, candidate) > budget {
            return None;
        }
        let other: String = letters(candidate).collect();
        let distance = strsim::damerau_levenshtein(&word, &other);
        (distance <= budget && distance < other.chars().count()).then_some((distance, candidate))
    });
    near.min_by_key(|&(distance, _)| distance)
}

/// How often a word has each character. Different ones may share a place.
type Counts = [i32; 32];

fn counts(word: &str) -> Counts {
    let mut counts = Counts::default();
    letters(word).for_each(|c| counts[c as usize % 32] += 1);
    counts
}

/// A cheap lower bound of the edits between two words: each character that only one of them has is an edit.
fn least_edits(word: &Counts, other: &str) -> usize {
    let (mut missing, mut surplus) = (0, 0);
    for (count, other) in word.iter().zip(counts(other)) {
        surplus += (count - other).max(0);
        missing += (other - count).max(0);
    }
    surplus.max(missing).unsigned_abs() as usize
}

/// The characters that count when words are compared.
fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).map(|c| c.to_ascii_lowercase())
}

/// Whether this can be the name of an environment variable.
pub fn is_variable(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The names of variables that `text` has as `${NAME}`, also with a default.
pub fn variables_in(text: &str) -> BTreeSet<String> {
    let names = text.split("${").skip(1).filter_map(|rest| rest.split(['}', '-', ':']).next());
    names.filter(|name| is_variable(name)).map(str::to_owned).collect()
}

/// `a` or `b`.
pub fn either<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
}

/// `a`, `b` and `c`.
pub fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
