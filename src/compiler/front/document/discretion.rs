//! Messages that quote no value below `env`.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

/// The texts that no message may quote.
#[derive(Debug)]
pub struct Discretion<'d> {
    secrets: HashSet<&'d str>,
    /// How many backticks stand inside of a secret.
    inside: BTreeSet<usize>,
}

impl<'d> Discretion<'d> {
    pub(super) fn new(secrets: impl Iterator<Item = &'d str>) -> Self {
        let secrets: HashSet<&str> = secrets.filter(|it| !it.is_empty()).collect();
        let inside = secrets.iter().map(|it| it.matches('`').count()).collect();
        Self { secrets, inside }
    }

    /// `message` with stars for each secret in backticks, or in backticks and double quotes.
    pub fn apply(&self, message: &str) -> String {
        let ticks: Vec<usize> = message.match_indices('`').map(|(at, _)| at).collect();
        let mut shown = String::with_capacity(message.len());
        let mut end = 0;
        for (index, &tick) in ticks.iter().enumerate() {
            if tick >= end
                && let Some(secret) = self.quoted(message, &ticks[index..])
            {
                shown.extend([&message[end..secret.start], "***"]);
                end = secret.end;
            }
        }
        shown + &message[end..]
    }

    /// The secret that the first of `ticks` opens.
    fn quoted(&self, message: &str, ticks: &[usize]) -> Option<Range<usize>> {
        self.inside.iter().find_map(|inside| {
            let whole = ticks[0] + 1..*ticks.get(inside + 1)?;
            let text = &message[whole.clone()];
            if self.secrets.contains(text) {
                return Some(whole);
            }
            let text = text.strip_prefix('"')?.strip_suffix('"')?;
            self.secrets.contains(text).then(|| whole.start + 1..whole.end - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_hidden() {
        let discretion = Discretion::new(["one", "t`wo", "", "`"].into_iter());
        for (message, shown) in [
            ("one is `one`, `\"one\"` and `one`", "one is `***`, `\"***\"` and `***`"),
            ("`t`wo` is no `t`", "`***` is no `t`"),
            ("``` `` ones `ones`", "`***` `` ones `ones`"),
            ("`", "`"),
            ("", ""),
        ] {
            assert_eq!(discretion.apply(message), shown);
        }
    }
}
