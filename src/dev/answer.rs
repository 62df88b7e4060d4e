//! Programs that are asked for something, such as their version.

use std::time::Duration;

use tokio::time::timeout;

use crate::child::{Child, Command, Status};
use crate::project::reason;

/// Grace period of such a program.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a program that ends within `limit`; returns its exit status and its last lines. The error is a fragment.
pub(super) async fn answer(command: &Command, limit: Duration) -> Result<(Status, Vec<String>), String> {
    let mut child = Child::start(command, GRACE).map_err(|error| reason(&error))?;
    let ended = timeout(limit, child.finish(drop)).await;
    let late = |_| format!("does not answer within {} s", limit.as_secs());
    let status = ended.map_err(late)?.map_err(|error| reason(&error))?;
    Ok((status, child.last_lines()))
}
