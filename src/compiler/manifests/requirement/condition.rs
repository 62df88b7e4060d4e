//! What stands behind the `;` of a requirement.

use std::str::FromStr;

use pep508_rs::{MarkerOperator, MarkerValue};

use super::{Fault, Reader};
use crate::compiler::words::similar;

/// What a condition may ask for.
const CONDITIONS: &[&str] = &[
    "extra",
    "implementation_name",
    "implementation_version",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_full_version",
    "python_version",
    "sys_platform",
];

impl Reader<'_> {
    /// What stands behind the `;`. A loop with a count of open parentheses, because the nesting is the author's
    /// to choose.
    pub(super) fn condition(&mut self) -> Result<(), Fault> {
        let mut open = Vec::new();
        loop {
            self.skip_space();
            while self.peek() == Some('(') {
                open.push(self.at);
                self.take("(");
                self.skip_space();
            }
            self.condition_comparison()?;
            self.skip_space();
            while !open.is_empty() && self.take(")") {
                open.pop();
                self.skip_space();
            }
            let start = self.at;
            match self.take_while(|c| c.is_ascii_alphabetic()) {
                "and" | "or" => {}
                _ => {
                    self.at = start;
                    break;
                }
            }
        }
        match (open.pop(), self.peek()) {
            (_, Some(_)) => {
                Err(self.fault(self.at..self.text.len(), "has a condition that goes on after its end"))
            }
            (Some(open), None) => Err(self.fault(open..open + 1, "has a `(` that is never closed")),
            (None, None) => Ok(()),
        }
    }

    fn condition_comparison(&mut self) -> Result<(), Fault> {
        self.condition_value()?;
        self.skip_space();
        let start = self.at;
        let mut operator = if self.peek().is_some_and(char::is_alphabetic) {
            self.take_while(char::is_alphabetic).to_owned()
        } else {
            self.take_while(|c| "<>=!~".contains(c)).to_owned()
        };
        if operator == "not" {
            self.skip_space();
            operator = format!("not {}", self.take_while(char::is_alphabetic));
        }
        if operator != "===" && MarkerOperator::from_str(&operator).is_err() {
            let part = if operator.is_empty() { self.here() } else { start..self.at };
            return Err(self.fault(part, "has a condition without a known comparison"));
        }
        self.skip_space();
        self.condition_value()
    }

    fn condition_value(&mut self) -> Result<(), Fault> {
        let start = self.at;
        if let Some(quote) = self.peek().filter(|c| matches!(c, '"' | '\'')) {
            self.at += 1;
            self.take_while(|c| c != quote);
            let closed = self.peek().is_some();
            self.at += usize::from(closed);
            let fault = || self.fault(start..self.text.len(), "has a quote that is never closed");
            return if closed { Ok(()) } else { Err(fault()) };
        }
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if MarkerValue::from_str(word).is_ok() {
            return Ok(());
        }
        if word.is_empty() {
            return Err(self.fault(self.here(), "has a condition with a part missing"));
        }
        let mut fault = self.fault(start..self.at, format!("has a condition on `{word}`, which is unknown"));
        fault.help = if word.starts_with(|c: char| c.is_ascii_digit()) {
            Some(format!("put it in quotes: `'{word}'`"))
        } else {
            similar(word, CONDITIONS.iter().copied()).map(|name| format!("did you mean `{name}`?"))
        };
        Err(fault)
    }
}
