//! The question whether a deployment is created.

use crate::cli::ask::confirm;
use crate::cli::printer::Printer;
use crate::ship::Hooks;

/// The answer to the question whether a deployment is created.
pub(super) struct Confirmation {
    /// Whether it is given in advance.
    pub(super) is_given: bool,
}

impl Hooks for Printer<'_, Confirmation> {
    async fn confirm_creation(&mut self, deployment: &str, details: &str) -> bool {
        if self.context.is_given || self.is_json || !self.env.can_ask() {
            return true;
        }
        let question = format!("There is no {deployment}. Create it ({details})?");
        confirm(self.env, &question, true).await
    }
}
