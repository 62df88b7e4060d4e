//! JSON Lines on stdout.

use serde_json::{Value, json};

use crate::cli::env::Env;
use crate::engine::BuildEvent;

pub(super) fn show(env: &mut Env, event: &BuildEvent) {
    let line = object(event);
    env.out.write(&format!("{line}\n")).and_then(|()| env.out.flush()).ok();
}

fn object(event: &BuildEvent) -> Value {
    match event {
        BuildEvent::Context { files, bytes, .. } => {
            json!({ "event": "context", "files": files, "bytes": bytes })
        }
        BuildEvent::UpToDate { files, bytes } => {
            json!({ "event": "up_to_date", "files": files, "bytes": bytes })
        }
        BuildEvent::StepStarted(step) => json!({
            "event": "step_started", "id": step.id, "number": step.number, "total": step.total,
            "stage": step.stage, "name": step.name, "internal": step.internal, "key": step.key,
        }),
        BuildEvent::StepLog { id, line } => json!({ "event": "step_log", "id": id, "line": line }),
        BuildEvent::StepProgress { id, part, current, total } => {
            json!({ "event": "step_progress", "id": id, "part": part, "current": current, "total": total })
        }
        BuildEvent::StepDone { id, cached, duration } => json!({
            "event": "step_done", "id": id, "cached": cached, "seconds": duration.map(|it| it.as_secs_f64()),
        }),
        BuildEvent::StepFailed { id, reason } => {
            json!({ "event": "step_failed", "id": id, "reason": reason })
        }
        BuildEvent::Warning(text) => json!({ "event": "warning", "message": text }),
    }
}
