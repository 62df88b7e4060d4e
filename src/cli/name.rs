//! What a deployment is called.

use std::path::Path;

use super::compile::directory_of;
use super::env::Env;
use super::settings::Settings;
use crate::compiler::server::hosted;
use crate::error::Error;

/// The name, where no option gives it.
const VARIABLE: &str = "PLATFORM_DEPLOYMENT_NAME";

/// The longest name, in characters.
const LONGEST: usize = 63;

/// The name that is meant: the option, the environment, `.env` beside `config`, or in the current directory where no
/// configuration is named, and else the current directory's name. It may be of any form, for so are names of deployments
/// that were made elsewhere.
pub(super) fn deployment_name(
    env: &mut Env,
    given: Option<&str>,
    config: Option<&Path>,
) -> Result<String, Error> {
    let given = given.map(str::to_owned).or_else(|| {
        let directory =
            config.map_or_else(|| env.directory.clone(), |it| directory_of(&env.directory.join(it)));
        let settings = Settings::read(env, &directory);
        let found = settings.find(env, &[VARIABLE]).or_else(|| settings.find(env, &[hosted::NAME]));
        found.map(|setting| setting.value.expose().to_owned())
    });
    if let Some(name) = given {
        return Ok(name);
    }
    let directory = env.directory.canonicalize().unwrap_or_else(|_| env.directory.clone());
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(slug(&name))
}

/// Whether a deployment of this name can be made; if not, says which ones can.
pub(super) fn check_new(name: &str) -> Result<(), Error> {
    if is_slug(name) {
        return Ok(());
    }
    Err(Error::Usage {
        message: format!(
            "`{name}` cannot be the name of a new deployment: that has lowercase letters, digits and inner hyphens, at most \
             {LONGEST}"
        ),
        hint: Some(format!("such as `{}`", slug(name))),
    })
}

fn is_slug(name: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.as_bytes().first(), name.as_bytes().last()];
    name.len() <= LONGEST
        && ends.iter().all(|end| end.is_some_and(is_plain))
        && name.bytes().all(|byte| is_plain(&byte) || byte == b'-')
}

/// `My Agent (2)` → `my-agent-2`
pub(super) fn slug(text: &str) -> String {
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
    fn every_directory_has_a_name_for_a_deployment() {
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
    fn names_are_checked() {
        assert!(is_slug("a") && is_slug("0-a") && is_slug(&"a".repeat(63)));
        for name in ["", "-a", "a-", "A", "a_b", "a.b", "ä", &"a".repeat(64)] {
            assert!(!is_slug(name), "{name}");
        }
    }
}
