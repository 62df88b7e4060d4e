//! `setup.cfg`, as Python's `configparser` reads it for setuptools.

use std::collections::HashSet;

use super::Broken;

/// The parts of a `setup.cfg` that are used here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupCfg {
    /// The project's name, if it is given in the file itself.
    pub name: Option<String>,
    /// The Python versions that it supports.
    pub python_requires: Option<String>,
}

/// Reads the content of a `setup.cfg`.
pub fn read(text: &str) -> Result<SetupCfg, Broken> {
    let mut found = SetupCfg::default();
    let mut section = None;
    let mut seen = HashSet::new();
    // The indentation of the last option, which lines with a deeper one continue.
    let mut option_at = None;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let start = end + indent;
        end += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) || option_at.is_some_and(|at| indent > at) {
            continue;
        }
        let broken = |message: &str| Err(Broken::new(start..start + line.len(), message));
        if let Some((header, _)) = line.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
            if !seen.insert((header, None)) && header != "DEFAULT" {
                return broken("duplicate section");
            }
            section = Some(header);
            option_at = None;
            continue;
        }
        let Some(section) = section else { return broken("expected a section header such as `[metadata]`") };
        let Some((option, value)) = line.split_once(['=', ':']) else {
            return broken("expected `key = value`");
        };
        let (option, value) = (option.trim(), value.trim());
        if !seen.insert((section, Some(option))) {
            return broken("duplicate key");
        }
        option_at = Some(indent);
        match (section, option) {
            // The value of `attr:` and `file:` is elsewhere.
            ("metadata", "name") if !value.contains(':') => found.name = Some(value.to_owned()),
            ("options", "python_requires") => found.python_requires = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let name = |text| read(text).unwrap().name;
        assert_eq!(name("[options]\nname = no\n[metadata]\nname: yes\n").as_deref(), Some("yes"));
        assert_eq!(name("[metadata]\nlong_description =\n  a\n\n  name = no\n"), None);
        assert_eq!(name("[metadata]\nname = attr: x.name\n"), None);
        assert_eq!(name("# x\n; y\n\n[a]\nb\t= 1\n  c\nd =\n[e]\n"), None);
    }

    #[test]
    fn what_configparser_refuses() {
        for (text, wrong) in [
            ("name = a", "name = a"),
            ("[a]\nb = 1\nc\n", "c"),
            ("[a]\r\nb\r\n", "b"),
            ("[metadata\nname = x", "[metadata"),
            ("[a]\nb = 1\nb = 2\n", "b = 2"),
            ("[a]\n[a]\n", "[a]"),
        ] {
            let broken = read(text).unwrap_err();
            assert_eq!(&text[broken.span.clone()], wrong, "{broken:?}");
        }
        assert_eq!(read("[a]\n[a]\n").unwrap_err().span.start, 4);
    }
}
