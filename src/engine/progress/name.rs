//! Names of steps: `[builder 2/5] RUN make`, `[internal] load metadata for …`, `STEP 2/5: RUN make`.

/// The parts of the name of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) number: Option<u32>,
    pub(super) total: Option<u32>,
    pub(super) stage: Option<String>,
    pub(super) text: String,
    pub(super) internal: bool,
}

impl Name {
    /// The name of a vertex of BuildKit. Those without a number are internal.
    pub(super) fn from_vertex(name: &str) -> Self {
        let internal = |text: &str| Self {
            number: None,
            total: None,
            stage: None,
            text: text.trim_start_matches("[internal] ").to_owned(),
            internal: true,
        };
        let Some((place, text)) = name.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else {
            return internal(name);
        };
        let (stage, count) =
            place.rsplit_once(' ').map_or((None, place), |(stage, count)| (Some(stage), count));
        match fraction(count) {
            Some((number, total)) => Self {
                number: Some(number),
                total: Some(total),
                stage: stage.map(|stage| stage.trim().to_owned()).filter(|stage| !stage.is_empty()),
                text: text.to_owned(),
                internal: false,
            },
            None => internal(name),
        }
    }

    /// The name in a line of Buildah; `None` if the line does not start a step.
    pub(super) fn from_line(line: &str) -> Option<Self> {
        // With several stages, each line starts with `[1/2] `.
        let (stage, line) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((stage, line)) => (Some(stage.to_owned()), line),
            None => (None, line),
        };
        let (count, text) = line.strip_prefix("STEP ")?.split_once(": ")?;
        let (number, total) = fraction(count)?;
        Some(Self {
            number: Some(number),
            total: Some(total),
            stage,
            text: text.trim().to_owned(),
            internal: false,
        })
    }
}

fn fraction(text: &str) -> Option<(u32, u32)> {
    let (number, total) = text.split_once('/')?;
    Some((number.trim().parse().ok()?, total.trim().parse().ok()?))
}
