//! Environment markers such as `python_full_version < '3.13'`, evaluated for CPython on Linux.
//!
//! `pep508_rs` evaluates the comparisons in them. It panics on some that are not ASCII, and it can take exponential time
//! for a marker of many comparisons, so `and` and `or` are evaluated here.

use std::str::FromStr;

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerEnvironmentBuilder, MarkerTree};

/// The machines that images are built for, as `platform_machine` names them.
pub const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

/// Longer comparisons, in bytes, are not evaluated.
const MAX_COMPARISON: usize = 200;

/// Maximum number of operators and parentheses around a comparison.
const MAX_LEVELS: usize = 64;

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
        if marker.is_ascii() { self.value(marker, extras, MAX_LEVELS) } else { None }
    }

    fn value(&self, marker: &str, extras: &[ExtraName], levels: usize) -> Option<bool> {
        let levels = levels.checked_sub(1)?;
        let values = |operands: &[&str]| -> Option<Vec<bool>> {
            operands.iter().map(|operand| self.value(operand, extras, levels)).collect()
        };
        let (alternatives, conditions) = (operands(marker, " or "), operands(marker, " and "));
        match marker.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            _ if alternatives.len() > 1 => Some(values(&alternatives)?.contains(&true)),
            _ if conditions.len() > 1 => Some(!values(&conditions)?.contains(&false)),
            Some(inner) => self.value(inner, extras, levels),
            None if marker.len() > MAX_COMPARISON => None,
            None => Some(MarkerTree::from_str(marker).ok()?.evaluate(&self.0, extras)),
        }
    }
}

/// The parts of `marker` between `operator`, outside of parentheses and quotes.
fn operands<'a>(marker: &'a str, operator: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    let mut quote = None;
    for (at, c) in marker.char_indices() {
        match c {
            _ if quote.is_some() => quote = quote.filter(|open| *open != c),
            '\'' | '"' => quote = Some(c),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            // The blank after an operator may be that before the next one.
            ' ' if depth == 0 && at >= start && marker[at..].starts_with(operator) => {
                found.push(&marker[start..at]);
                start = at + operator.len();
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
        let long = ["os_name == 'nt'"; 20].join(" and ");
        let pairs: Vec<String> = (0..30).map(|n| format!("extra == 'a{n}' and extra == 'n{n}'")).collect();
        for (marker, value) in [
            ("sys_platform == 'linux'", Some(true)),
            ("python_full_version >= '3.12' and python_full_version < '3.13'", Some(true)),
            ("python_full_version < '3.12.4'", Some(false)),
            ("platform_machine == 'x86_64' or sys_platform == 'darwin'", Some(false)),
            ("(platform_machine == 'x86_64' or os_name == 'posix') and extra == 'x'", Some(false)),
            ("extra == 'extra-7-project-cpu'", Some(true)),
            ("extra != 'extra-7-project-cpu'", Some(false)),
            ("os_name == 'posix' and (os_name == 'nt' or (sys_platform == 'linux'))", Some(true)),
            ("platform_version == ' or ' or platform_version == \" and \"", Some(false)),
            (&format!("{long} or os_name == 'posix'"), Some(true)),
            (&format!("os_name == 'posix' and ({})", pairs.join(" or ")), Some(false)),
            (&format!("os_name == '{}'", "x".repeat(200)), None),
            (&format!("{}os_name == 'nt'{}", "(".repeat(9000), ")".repeat(9000)), None),
            ("(os_name == 'nt' or", None),
            ("os_name == 'nt' or or os_name == 'posix'", None),
            ("os_name == 'ö'", None),
            ("os_name = 'nt'", None),
        ] {
            assert_eq!(environment.holds(marker, &extras), value, "{marker}");
        }
    }
}
