//! The question whether a deploy goes on.

use crate::cli::ask::confirm;
use crate::cli::printer::Printer;
use crate::ship::Hooks;

/// The answer to that question.
pub(super) struct Confirmation {
    /// Whether it is given in advance.
    pub(super) is_given: bool,
}

impl Hooks for Printer<'_, Confirmation> {
    async fn confirm(&mut self, question: &str) -> bool {
        if self.context.is_given || self.is_json || !self.env.can_ask() {
            return true;
        }
        confirm(self.env, question, true).await
    }
}
