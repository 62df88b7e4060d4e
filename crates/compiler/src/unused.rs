//! The parts of a configuration that a command does not use: errors about them do not stop it.

use crate::diagnostic::{Diagnostic, Pointer, Severity};
use crate::finding::{Checked, Finding};
use crate::options::Options;

/// Rules about the command that installs the packages of a JavaScript project by default.
const INSTALLATION_RULES: &[&str] = &["no-package-json", "outdated-package-lock"];

/// Rules about files that a build command makes.
const UNBUILT_RULES: &[&str] = &["reference-not-built", "workspace-package-not-built"];

/// The rule about files that a project only has if the user allows it.
const OUTSIDE: &str = "path-outside-project";

/// The parts of a configuration that a command does not use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unused<'a> {
    /// Rules whose findings do not apply to it.
    pub rules: &'a [&'a str],
    /// Rules whose errors may not apply to it, and are warnings.
    pub warned: &'a [&'a str],
    /// Pointers to the keys that it does not read: errors about their values are warnings.
    pub keys: &'a [&'a str],
}

impl Unused<'_> {
    /// Removes the findings that do not apply to a command with these `options`, and makes warnings of errors about what
    /// it can do without. Returns how many errors no longer are any.
    pub(super) fn leave_out(&self, options: &Options, checked: &mut Checked) -> usize {
        let all = checked.errors();
        checked.findings.retain(|finding| !self.is_inapplicable(options, finding.diagnostic.rule.code));
        for Finding { diagnostic, .. } in &mut checked.findings {
            if diagnostic.is_error() && self.is_dispensable(diagnostic) {
                diagnostic.severity = Severity::Warning;
            }
        }
        all - checked.errors()
    }

    fn is_inapplicable(&self, options: &Options, code: &str) -> bool {
        self.rules.contains(&code)
            || options.install_command.is_some() && INSTALLATION_RULES.contains(&code)
            || options.build_command.is_some() && UNBUILT_RULES.contains(&code)
    }

    /// Whether the command loses nothing by what an error is about. No command reads what lies outside of the project.
    fn is_dispensable(&self, diagnostic: &Diagnostic) -> bool {
        if diagnostic.rule.code == OUTSIDE {
            return false;
        }
        let pointer = diagnostic.place.pointer();
        diagnostic.is_dispensable
            || self.warned.contains(&diagnostic.rule.code)
            || self.keys.iter().any(|key| pointer.is_within(&Pointer::parse(key)))
    }
}
