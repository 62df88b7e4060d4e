//! `tool.poetry.dependencies` as requirements (PEP 508).

use toml::{Table, Value};

use crate::manifests::pyproject::{string, strings};

/// The requirements in the table `tool.poetry`, or `None` if one of them cannot be expressed.
pub(super) fn requirements(poetry: &Table) -> Option<Vec<String>> {
    let dependencies = poetry.get("dependencies").and_then(Value::as_table);
    let all = dependencies.into_iter().flatten().filter(|(name, _)| *name != "python");
    let mut found = Vec::new();
    for (name, value) in all {
        let several = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for one in several.iter().filter(|it| it.get("optional").and_then(Value::as_bool) != Some(true)) {
            found.push(requirement(name, one)?);
        }
    }
    Some(found)
}

/// The path of a local dependency.
pub(super) fn path(value: &Value) -> Option<&str> {
    let several = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    several.iter().find_map(|it| it.get("path")?.as_str())
}

fn requirement(name: &str, value: &Value) -> Option<String> {
    let empty = Table::new();
    let table = value.as_table().unwrap_or(&empty);
    let extras = strings(table, "extras");
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let place = match (repository(table).or_else(|| string(table, "url")), path(value)) {
        (Some(url), _) => format!(" @ {url}"),
        (None, Some(path)) => format!(" @ file:{path}"),
        (None, None) => specifiers(value.as_str().or_else(|| value.get("version")?.as_str())?)?,
    };
    let mut conditions: Vec<String> =
        string(table, "markers").map(|it| format!("({it})")).into_iter().collect();
    if let Some(python) = string(table, "python") {
        for version in specifiers(&python)?.split(',').filter(|it| !it.is_empty()) {
            let at = version.find(|c: char| c.is_ascii_digit())?;
            conditions.push(format!("python_version {} '{}'", &version[..at], &version[at..]));
        }
    }
    conditions.extend(string(table, "platform").map(|it| format!("sys_platform == '{it}'")));
    let condition =
        if conditions.is_empty() { String::new() } else { format!(" ; {}", conditions.join(" and ")) };
    Some(format!("{name}{extras}{place}{condition}"))
}

/// The specifiers (PEP 440) of a constraint such as `^1.2`, or `None` for one with alternatives.
fn specifiers(constraint: &str) -> Option<String> {
    if constraint.contains('|') {
        return None;
    }
    let mut found = Vec::new();
    for part in constraint.split(',').map(str::trim).filter(|part| !matches!(*part, "" | "*")) {
        let operator = &part[..part.find(|c: char| !"^~<>=!".contains(c)).unwrap_or(part.len())];
        let version = part[operator.len()..].trim();
        if version.contains(char::is_whitespace) || !version.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        found.push(match operator {
            "^" => {
                range(version, |release| release.iter().position(|it| *it > 0).unwrap_or(release.len() - 1))?
            }
            "~" => range(version, |release| release.len().min(2) - 1)?,
            "" | "=" => format!("=={version}"),
            operator => format!("{operator}{version}"),
        });
    }
    Some(found.join(","))
}

/// The versions from `version` up to the next one at the component that `bumped` selects.
fn range(version: &str, bumped: impl Fn(&[u64]) -> usize) -> Option<String> {
    let numbers = version.split('.').map_while(|part| part.parse().ok());
    let mut release: Vec<u64> = numbers.collect();
    if release.is_empty() {
        return None;
    }
    release.truncate(bumped(&release) + 1);
    *release.last_mut()? += 1;
    let next: Vec<String> = release.iter().map(u64::to_string).collect();
    Some(format!(">={version},<{}", next.join(".")))
}

/// The URL of a repository, in the tables of uv and Poetry.
pub(super) fn repository(source: &Table) -> Option<String> {
    let git = string(source, "git")?;
    let scheme = if git.starts_with("git+") { "" } else { "git+" };
    let revision = ["rev", "tag", "branch"].iter().find_map(|key| string(source, key));
    let revision = revision.map(|it| format!("@{it}")).unwrap_or_default();
    let directory = string(source, "subdirectory").map(|it| format!("#subdirectory={it}"));
    Some(format!("{scheme}{git}{revision}{}", directory.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_become_specifiers() {
        for (constraint, expected) in [
            ("^1.2.3", Some(">=1.2.3,<2")),
            ("^0.2.3", Some(">=0.2.3,<0.3")),
            ("^0.0.3", Some(">=0.0.3,<0.0.4")),
            ("^0.0", Some(">=0.0,<0.1")),
            ("^1", Some(">=1,<2")),
            ("^0.1.0b1", Some(">=0.1.0b1,<0.2")),
            ("~1.2.3", Some(">=1.2.3,<1.3")),
            ("~1", Some(">=1,<2")),
            ("~=1.4", Some("~=1.4")),
            (">=1.0, <2", Some(">=1.0,<2")),
            ("1.2.*", Some("==1.2.*")),
            ("1.2.3", Some("==1.2.3")),
            ("*", Some("")),
            ("^1 || ^2", None),
            (">=1 <2", None),
            ("latest", None),
        ] {
            assert_eq!(specifiers(constraint).as_deref(), expected, "{constraint}");
        }
    }

    #[test]
    fn dependencies_become_requirements() {
        let poetry: Table = "[dependencies]\npython = '^3.11'\na = '^1'\nb = {version = '*', extras = ['x', 'y']}\n\
                             c = {git = 'https://h/c.git', branch = 'main'}\nd = {path = '../d', develop = true}\n\
                             e = {version = '1', optional = true}\nf = {version = '2', python = '<3.12', markers = \"os_name == 'nt'\"}"
            .parse()
            .unwrap();
        assert_eq!(
            requirements(&poetry).unwrap(),
            [
                "a>=1,<2",
                "b[x,y]",
                "c @ git+https://h/c.git@main",
                "d @ file:../d",
                "f==2 ; (os_name == 'nt') and python_version < '3.12'",
            ]
        );
    }
}
