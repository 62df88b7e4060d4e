//! Which deployment is meant.

use super::Ship;
use crate::api::wire::Deployment;
use crate::cli::compile::{Planned, directory_of};
use crate::cli::env::Env;
use crate::cli::settings::Settings;
use crate::compiler::server::hosted;
use crate::error::Error;

/// The name, where no option gives it.
const VARIABLE: &str = "PLATFORM_DEPLOYMENT_NAME";

/// The longest name, in characters.
const LONGEST: usize = 63;

/// The deployment that is meant.
pub(super) enum Wanted {
    /// One that there is.
    Id(String),
    /// One of this name, there or not.
    Name(String),
}

impl Wanted {
    /// Its name.
    pub(super) fn name(&self, found: Option<&Deployment>) -> String {
        match (found, self) {
            (Some(found), _) => found.name.clone(),
            (None, Self::Id(name) | Self::Name(name)) => name.clone(),
        }
    }
}

/// The deployment that is meant: the id wins, then the option, the environment, `.env`, and the directory's name.
pub(super) fn wanted(env: &mut Env, ship: &Ship, planned: &Planned) -> Result<Wanted, Error> {
    if let Some(id) = &ship.deployment_id {
        return Ok(Wanted::Id(id.clone()));
    }
    let given = ship.name.clone().or_else(|| {
        let settings = Settings::read(env, &directory_of(&planned.project.path));
        let found = settings.find(env, &[VARIABLE]).or_else(|| settings.find(env, &[hosted::NAME]));
        found.map(|setting| setting.value.expose().to_owned())
    });
    if let Some(name) = given {
        return if is_slug(&name) { Ok(Wanted::Name(name)) } else { Err(no_slug(&name)) };
    }
    let directory = env.directory.canonicalize().unwrap_or_else(|_| env.directory.clone());
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(Wanted::Name(slug(&name)))
}

fn no_slug(name: &str) -> Error {
    Error::Usage {
        message: format!(
            "`{name}` cannot be the name of a deployment: that has lowercase letters, digits and inner hyphens, at most \
             {LONGEST}"
        ),
        hint: Some(format!("such as `{}`", slug(name))),
    }
}

fn is_slug(name: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.as_bytes().first(), name.as_bytes().last()];
    name.len() <= LONGEST
        && ends.iter().all(|end| end.is_some_and(is_plain))
        && name.bytes().all(|byte| is_plain(&byte) || byte == b'-')
}

/// `My Agent (2)` → `my-agent-2`
fn slug(text: &str) -> String {
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
