//! Environment markers such as `python_full_version < '3.13'`, evaluated for CPython on Linux.
//!
//! `pep508_rs` evaluates them. It panics on some markers that are not ASCII, and long ones can take it exponential time;
//! uv writes long markers as alternatives, which are evaluated one by one.

use std::str::FromStr;

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerEnvironmentBuilder, MarkerTree};

/// The machines that images are built for, as `platform_machine` names them.
pub const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

/// Longer alternatives, in bytes, are not evaluated.
const MAX_ALTERNATIVE: usize = 1000;

/// Later than any patch release of Python. Images have the latest one.
const PATCH: &str = "99";

/// A Python on a machine.
pub struct Environment(MarkerEnvironment);

impl Environment {
    /// CPython `python`, given as major.minor, on Linux; `None` if that is no version.
    pub fn linux(python: &str, machine: &str) -> Option<Self> {
        let full = format!("{python}.{PATCH}");
        let values = MarkerEnvironmentBuilder {
            implementation_name: "cpython",
            implementation_version: &full,
            os_name: "posix",
            platform_machine: machine,
            platform_python_implementation: "CPython",
            platform_release: "",
            platform_system: "Linux",
            platform_version: "",
            python_full_version: &full,
            python_version: python,
            sys_platform: "linux",
        };
        values.try_into().ok().map(Self)
    }

    /// Whether `marker` is true with these extras; `None` if it cannot be read.
    pub fn holds(&self, marker: &str, extras: &[ExtraName]) -> Option<bool> {
        if !marker.is_ascii() {
            return None;
        }
        let alternatives = alternatives(marker);
        let values: Option<Vec<bool>> =
            alternatives.into_iter().map(|it| self.evaluate(it, extras)).collect();
        values.map(|values| values.contains(&true))
    }

    fn evaluate(&self, marker: &str, extras: &[ExtraName]) -> Option<bool> {
        if marker.len() > MAX_ALTERNATIVE {
            return None;
        }
        Some(MarkerTree::from_str(marker).ok()?.evaluate(&self.0, extras))
    }
}

/// The operands of the `or` outside of parentheses.
fn alternatives(marker: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in marker.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && marker[at..].starts_with(" or ") => {
                found.push(&marker[start..at]);
                start = at + " or ".len();
            }
            _ => {}
        }
    }
    found.push(&marker[start..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_evaluated_for_linux() {
        let environment = Environment::linux("3.12", "aarch64").unwrap();
        let extras = [ExtraName::from_str("extra-7-project-cpu").unwrap()];
        let long = format!("(sys_platform == 'win32' and {})", ["os_name == 'nt'"; 20].join(" and "));
        for (marker, value) in [
            ("sys_platform == 'linux'", Some(true)),
            ("python_full_version >= '3.12' and python_full_version < '3.13'", Some(true)),
            ("python_full_version < '3.12.4'", Some(false)),
            ("platform_machine == 'x86_64' or sys_platform == 'darwin'", Some(false)),
            ("(platform_machine == 'x86_64' or os_name == 'posix') and extra == 'x'", Some(false)),
            ("extra == 'extra-7-project-cpu'", Some(true)),
            ("extra != 'extra-7-project-cpu'", Some(false)),
            (&format!("{} or os_name == 'posix'", [long.as_str(); 30].join(" or ")), Some(true)),
            (&[long.as_str(); 30].join(" and "), None),
            ("os_name == 'ö'", None),
            ("os_name = 'nt'", None),
        ] {
            assert_eq!(environment.holds(marker, &extras), value, "{marker}");
        }
    }
}
