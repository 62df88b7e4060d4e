//! Passwords and tokens in URLs.

use std::borrow::Cow;
use std::ops::Range;

/// Prefixes of the access tokens of well-known hosts.
const TOKENS: &[&str] =
    &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "pypi-", "ATBB"];

/// User names at least this long are taken for tokens.
const TOKEN_LENGTH: usize = 20;

/// The byte ranges of the userinfo (the part before the `@`) of URLs in `text`, where it holds a password or token. Plain
/// user names such as `git` are not secret. URLs may have their slashes escaped as in JSON (`:\/\/`).
pub fn userinfo(text: &str) -> Vec<Range<usize>> {
    let after = |separator: &'static str| text.match_indices(separator).map(|(at, it)| at + it.len());
    let mut found: Vec<_> =
        after("://").chain(after(r":\/\/")).filter_map(|start| secret_at(text, start)).collect();
    found.sort_by_key(|part| part.start);
    found
}

/// `text` with `*` in place of each byte of [`userinfo`].
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for part in userinfo(&text) {
        text.to_mut().replace_range(part.clone(), &"*".repeat(part.len()));
    }
    text
}

/// The userinfo at `start`, where a URL's authority starts, if it is secret.
fn secret_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = &text[start..];
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>`".contains(c)).unwrap_or(rest.len());
    let (user, _) = rest[..end].rsplit_once('@')?;
    is_secret(user).then(|| start..start + user.len())
}

fn is_secret(userinfo: &str) -> bool {
    let (name, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let is_token = name.len() >= TOKEN_LENGTH || TOKENS.iter().any(|prefix| name.starts_with(prefix));
    (!password.is_empty() && !is_variable(password)) || (is_token && !is_variable(name))
}

/// Whether `text` is `${NAME}`, which installers replace by an environment variable.
fn is_variable(text: &str) -> bool {
    text.strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| !name.contains(['$', '{', '}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_masked() {
        for (text, shown) in [
            ("a @ https://me:hunter2@x.y/z", "a @ https://**********@x.y/z"),
            (r"https:\/\/me:hunter2@x.y, https://é:p@x", r"https:\/\/**********@x.y, https://****@x"),
            (
                "https://a:b@x https:\\/\\/c:d@y https://e:f@z",
                "https://***@x https:\\/\\/***@y https://***@z",
            ),
            ("git+https://ghp_abc@x/y", "git+https://*******@x/y"),
            ("git+ssh://git@x/y https://${U}:${P}@x a:b@c", "git+ssh://git@x/y https://${U}:${P}@x a:b@c"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
