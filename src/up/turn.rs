//! One at a time: while one `up` changes what a project has, the next waits for its turn.

use std::fs::{File, OpenOptions, TryLockError, create_dir_all};
use std::io::{Read as _, Seek as _, Write as _};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use crate::engine::Engine;
use crate::live::Event;

/// How often it is asked for.
const PAUSE: Duration = Duration::from_millis(100);

/// The right to change a project; it ends with this value, or with the process that has it.
pub struct Turn {
    _locked_while_open: File,
}

/// Waits for the turn, and tells whom it waits for. Where no file can be locked there is none: the engine gives a name to
/// one of two.
pub async fn turn(engine: &Engine, project: &str, event: &mut dyn FnMut(&Event)) -> Option<Turn> {
    let mut file = file(engine, project)?;
    let mut is_told = false;
    loop {
        match file.try_lock() {
            Ok(()) => {
                // So that another can say who has it.
                let cleared = file.set_len(0).and_then(|()| file.rewind());
                cleared.and_then(|()| write!(file, "{}", std::process::id())).ok();
                return Some(Turn { _locked_while_open: file });
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return None,
        }
        if !is_told {
            is_told = true;
            event(&waiting(project, &mut file));
        }
        sleep(PAUSE).await;
    }
}

/// A file of this user's for this project on this engine.
fn file(engine: &Engine, project: &str) -> Option<File> {
    let directory = engine.cache()?.join("turns");
    create_dir_all(&directory).ok()?;
    let name = Sha256::digest(format!("{}\n{project}", engine.host()));
    let name: String = name.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(directory.join(name)).ok()
}

fn waiting(project: &str, file: &mut File) -> Event {
    let mut process = String::new();
    file.read_to_string(&mut process).ok();
    let who =
        process.parse::<u32>().map_or_else(|_| String::new(), |process| format!(" (process {process})"));
    let message = format!(
        "another `agentcli up` of the project `{project}`{who} is at work; this one goes on when it is done, Ctrl-C ends it"
    );
    Event::Note { message }
}
