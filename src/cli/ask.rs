//! Questions to the user.

use std::future::Future;
use std::io::{self, BufRead as _, BufReader};
use std::thread;

use tokio::sync::oneshot;

use super::console::visible;
use super::env::Env;

/// Asks `question`; an empty line is `default`. Ctrl-C is heard meanwhile.
pub(super) fn confirm(env: &mut Env, question: &str, default: bool) -> impl Future<Output = bool> + 'static {
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    env.err.write(&format!("{} {choice} ", visible(question))).and_then(|()| env.err.flush()).ok();
    let input = std::mem::replace(&mut env.input, Box::new(io::empty()));
    let (sender, answer) = oneshot::channel();
    // A thread of its own: nothing interrupts a read.
    thread::spawn(move || {
        let mut line = String::new();
        // Without an answer it is no.
        let is_answered = BufReader::new(input).read_line(&mut line).is_ok_and(|read| read > 0);
        let agreed = match line.trim().to_lowercase().as_str() {
            "" => default,
            answer => matches!(answer, "y" | "yes"),
        };
        sender.send(is_answered && agreed).ok();
    });
    async { answer.await.unwrap_or(false) }
}
