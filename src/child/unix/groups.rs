//! The process groups of running children.
//!
//! A group's number is that of its guard, and the system may reuse it once the guard has been reaped. So guards are
//! reaped, and groups signalled, under one lock.

use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread;

use rustix::process::{self, Pid, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;

use super::sockets::spawning_with;
use crate::child::{Pipes, Signal};

/// The groups whose guards have not been reaped.
static RUNNING: LazyLock<watch::Sender<Vec<Pid>>> = LazyLock::new(watch::Sender::default);

/// The process group of one child.
pub(in crate::child) struct Group {
    id: Pid,
    /// The guard's exit code, once it has exited; none if a signal killed it.
    status: watch::Receiver<Option<Option<i32>>>,
}

/// A thread that will reap a guard. It exists before the guard, so that no guard can be without it.
struct Reaper {
    guards: mpsc::Sender<(Child, Pid)>,
    status: watch::Receiver<Option<Option<i32>>>,
}

impl Reaper {
    /// Starts the thread, which ends with this value unless it gets a guard.
    fn start() -> io::Result<Self> {
        let (guards, receiver) = mpsc::channel::<(Child, Pid)>();
        let (sender, status) = watch::channel(None);
        let work = move || {
            let Ok((mut guard, id)) = receiver.recv() else { return };
            let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(id), exited).is_err_and(|error| error == rustix::io::Errno::INTR) {}
            RUNNING.send_modify(|groups| {
                kill_process_group(id, process::Signal::KILL).ok();
                let code = guard.wait().ok().and_then(|status| status.code());
                groups.retain(|group| *group != id);
                sender.send_replace(Some(code));
            });
        };
        thread::Builder::new().name("reaper".to_owned()).spawn(work)?;
        Ok(Self { guards, status })
    }

    /// Watches a guard, the leader of its group. When it exits, the rest of the group is killed.
    fn watch(self, guard: Child) -> io::Result<Group> {
        let id = i32::try_from(guard.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("the process has no valid number"))?;
        RUNNING.send_modify(|groups| groups.push(id));
        self.guards.send((guard, id)).map_err(|_| io::Error::other("the reaper thread has ended"))?;
        Ok(Group { id, status: self.status })
    }
}

impl Group {
    /// Starts `command` as the leader of a group that inherits `sockets`, and moves its pipes out.
    pub(in crate::child) fn spawn(
        mut command: Command,
        sockets: &[Arc<TcpListener>],
    ) -> io::Result<(Self, Pipes)> {
        let reaper = Reaper::start()?;
        let mut child = spawning_with(sockets, || command.process_group(0).spawn())?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let group = reaper.watch(child)?;
        let pipes = Pipes {
            stdin: stdin.map(ChildStdin::from_std).transpose()?,
            stdout: stdout.map(ChildStdout::from_std).transpose()?,
            stderr: stderr.map(ChildStderr::from_std).transpose()?,
        };
        Ok((group, pipes))
    }

    /// Signals every process of the group, unless it has ended.
    pub(in crate::child) fn signal(&mut self, signal: Signal) {
        let signal = match signal {
            Signal::Interrupt => process::Signal::INT,
            Signal::Kill => process::Signal::KILL,
        };
        let groups = RUNNING.borrow();
        if groups.contains(&self.id) {
            kill_process_group(self.id, signal).ok();
        }
    }

    /// Waits for the end of the group; the guard's exit code. Cancel safe.
    pub(in crate::child) async fn ended(&mut self) -> io::Result<Option<i32>> {
        let status = self.status.wait_for(Option::is_some).await;
        status.map(|status| status.flatten()).map_err(|_| io::Error::other("the process cannot be watched"))
    }
}

/// Waits until no group is left.
pub(in crate::child) async fn all_ended() {
    RUNNING.subscribe().wait_for(Vec::is_empty).await.ok();
}

/// Kills all children of this process.
pub fn kill_all() {
    for group in RUNNING.borrow().iter() {
        kill_process_group(*group, process::Signal::KILL).ok();
    }
}
