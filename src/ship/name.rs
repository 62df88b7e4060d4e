//! Names of deployments.

use super::Error;

/// The longest name, in characters.
const LONGEST: usize = 63;

/// Refuses names that a new deployment cannot have. Deployments that exist may have other names.
pub(super) fn check_new(name: &str) -> Result<(), Error> {
    if is_slug(name) {
        return Ok(());
    }
    Err(Error::Refused {
        message: format!(
            "cannot create a deployment named `{name}`: names have lowercase letters, digits and inner hyphens, at most \
             {LONGEST}"
        ),
        hint: format!("pass another --name, such as `{}`", slug(name)),
    })
}

fn is_slug(name: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.as_bytes().first(), name.as_bytes().last()];
    name.len() <= LONGEST
        && ends.iter().all(|end| end.is_some_and(is_plain))
        && name.bytes().all(|byte| is_plain(&byte) || byte == b'-')
}

/// `text` as the name of a deployment: `My Agent (2)` becomes `my-agent-2`.
pub fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    let mut slug = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    slug.truncate(LONGEST);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "app".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_name() {
        for (text, expected) in [
            ("My Agent (2)", "my-agent-2"),
            ("--a__b--", "a-b"),
            ("ÄÖ", "app"),
            ("", "app"),
            ("x", "x"),
            (&"a-".repeat(40), &format!("{}a", "a-".repeat(31))),
            (&"é1".repeat(99), &format!("{}1", "1-".repeat(31))),
        ] {
            assert_eq!(slug(text), expected);
            assert!(is_slug(&slug(text)));
        }
    }

    #[test]
    fn names_are_slugs() {
        assert!(is_slug("a") && is_slug("0-a") && is_slug(&"a".repeat(63)));
        for name in ["", "-a", "a-", "A", "a_b", "a.b", "ä", &"a".repeat(64)] {
            assert!(!is_slug(name), "{name}");
        }
    }
}
