//! Names of steps: `[builder 2/5] RUN make`, `[internal] load metadata for …`, `STEP 2/5: RUN make`.

use crate::engine::events::Step;

/// The step of a vertex of BuildKit. Those without a number are internal.
pub(super) fn step_of_vertex(name: &str) -> Step {
    let parts = name.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let numbered = parts.and_then(|(place, text)| {
        let (stage, count) =
            place.rsplit_once(' ').map_or((None, place), |(stage, count)| (Some(stage), count));
        numbered(count, stage.map(str::trim).filter(|stage| !stage.is_empty()), text)
    });
    let name = name.trim_start_matches("[internal] ").to_owned();
    numbered.unwrap_or_else(|| Step { name, internal: true, ..Step::default() })
}

/// The step that starts with a line of Buildah; `None` if the line does not start one.
pub(super) fn step_of_line(line: &str) -> Option<Step> {
    // With several stages, each line starts with `[1/2] `.
    let (stage, line) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((stage, line)) => (Some(stage), line),
        None => (None, line),
    };
    let (count, text) = line.strip_prefix("STEP ")?.split_once(": ")?;
    numbered(count, stage, text.trim())
}

/// The step with a number such as `2/5`.
fn numbered(count: &str, stage: Option<&str>, name: &str) -> Option<Step> {
    let (number, total) = count.split_once('/')?;
    Some(Step {
        number: Some(number.trim().parse().ok()?),
        total: Some(total.trim().parse().ok()?),
        stage: stage.map(str::to_owned),
        name: name.to_owned(),
        ..Step::default()
    })
}
