//! Short-lived programs that answer on stdout.

use std::io;
use std::process::{self, Stdio};

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};

use super::groups::{Group, Reaper};
use super::{Command, Status};

/// Size of the longest answer, in bytes; the rest of a longer one is dropped.
const MAX_ANSWER: u64 = 1 << 20;

/// A process group that is killed when it is dropped.
struct KillOnDrop(Group);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

/// Runs `command` with `input` on stdin; returns its exit status and its stdout. Dropping the future kills the command
/// and its children. There is no guard: a daemon that the command starts, such as a key agent, belongs to the user.
pub async fn output(command: &Command, input: &str) -> io::Result<(Status, Vec<u8>)> {
    let mut process = process::Command::new(&command.program);
    command.configure(&mut process);
    let reaper = Reaper::start()?;
    let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut group = KillOnDrop(reaper.watch(child)?);
    let write = async {
        if let Some(Ok(mut stdin)) = stdin.map(ChildStdin::from_std) {
            // A command need not read its input.
            stdin.write_all(input.as_bytes()).await.ok();
        }
    };
    let read = async {
        let mut answer = Vec::new();
        if let Some(stdout) = stdout {
            ChildStdout::from_std(stdout)?.take(MAX_ANSWER).read_to_end(&mut answer).await?;
        }
        Ok(answer)
    };
    let ((), answer) = tokio::join!(write, read);
    let answer: io::Result<Vec<u8>> = answer;
    Ok((Status::of(group.0.ended().await?), answer?))
}
