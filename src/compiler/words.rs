//! Words in messages: lists of names, and near misses; and names of variables.

/// The candidate that `word` is most likely a misspelling of.
pub fn similar<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest(word, candidates).map(|(_, candidate)| candidate)
}

/// The same with the number of edits between the two, ignoring case, `-`, `_` and blanks.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let word: String = letters(word).collect();
    let length = word.chars().count();
    let budget = (length / 3).clamp(1, 3);
    let near = candidates.filter_map(|candidate| {
        let other = letters(candidate).count();
        // Every character that only one of them has is an edit.
        let distance = || strsim::damerau_levenshtein(&word, &letters(candidate).collect::<String>());
        let distance = (other.abs_diff(length) <= budget).then(distance)?;
        (distance <= budget && distance < other).then_some((distance, candidate))
    });
    near.min_by_key(|&(distance, _)| distance)
}

/// The characters that count when words are compared.
fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase)
}

/// Whether this can be the name of an environment variable.
pub fn is_variable(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
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
