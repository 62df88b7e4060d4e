//! Short-lived programs that answer on stdout.

use std::io;
use std::process::{self, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::system::Group;
use super::{Command, Signal, Status};

/// Size of the longest answer, in bytes; the rest of a longer one is dropped.
const MAX_ANSWER: u64 = 1 << 24;

/// A process group that is killed when it is dropped.
struct KillOnDrop(Group);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.signal(Signal::Kill);
    }
}

/// Runs `command` with `input` on stdin; returns its exit status and its stdout. Dropping the future kills the command
/// and its children. There is no guard: a daemon that the command starts, such as a key agent, belongs to the user.
pub async fn output(command: &Command, input: &str) -> io::Result<(Status, Vec<u8>)> {
    let (status, stdout, _) = run(command, input, Stdio::null()).await?;
    Ok((status, stdout))
}

/// The same with its stderr, as text.
pub async fn output_and_errors(command: &Command, input: &str) -> io::Result<(Status, Vec<u8>, String)> {
    let (status, stdout, stderr) = run(command, input, Stdio::piped()).await?;
    Ok((status, stdout, String::from_utf8_lossy(&stderr).into_owned()))
}

async fn run(command: &Command, input: &str, stderr: Stdio) -> io::Result<(Status, Vec<u8>, Vec<u8>)> {
    let mut process = process::Command::new(&command.program);
    command.configure(&mut process);
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    let (group, pipes) = Group::spawn(process, &[])?;
    let mut group = KillOnDrop(group);
    let write = async {
        if let Some(mut stdin) = pipes.stdin {
            // A command need not read its input.
            stdin.write_all(input.as_bytes()).await.ok();
        }
    };
    let ((), stdout, stderr) = tokio::join!(write, read(pipes.stdout), read(pipes.stderr));
    Ok((Status::of(group.0.ended().await?), stdout?, stderr?))
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    }
    Ok(answer)
}
