//! The instruction of a step, and so the configuration key that causes it.

use crate::engine::events::{Step, StepOrigin};

/// The instructions of a Dockerfile, by stage.
pub(super) struct Origins {
    stages: Vec<Stage>,
}

struct Stage {
    name: String,
    /// Whether it starts from an image, which BuildKit counts as a step, rather than from `scratch` or an earlier stage.
    pulls: bool,
    /// With their indices among all instructions.
    instructions: Vec<(usize, StepOrigin)>,
}

impl Origins {
    pub(super) fn new(origins: &[StepOrigin]) -> Self {
        let mut stages: Vec<Stage> = Vec::new();
        for (index, origin) in origins.iter().enumerate() {
            let named = origin.starts_stage();
            if named.is_some() || stages.is_empty() {
                let name = named.filter(|name| !name.is_empty()).map(str::to_lowercase);
                let name = name.unwrap_or_else(|| format!("stage-{}", stages.len()));
                let base = origin.base_image().map(str::to_lowercase);
                let pulls =
                    base.is_some_and(|base| base != "scratch" && stages.iter().all(|it| it.name != base));
                stages.push(Stage { name, pulls, instructions: Vec::new() });
            }
            if let Some(stage) = stages.last_mut() {
                stage.instructions.push((index, origin.clone()));
            }
        }
        Self { stages }
    }

    /// The instruction of a step and its index: found by the number, since BuildKit expands variables in the text; if the
    /// totals differ, by the text.
    pub(super) fn find(&self, step: &Step) -> Option<(usize, &StepOrigin)> {
        let stage =
            self.stages.iter().filter(|stage| step.stage.as_ref().is_none_or(|own| *own == stage.name));
        let by_number = stage.filter_map(|stage| stage.numbered(step)).next();
        let same =
            |it: &&(usize, StepOrigin)| it.1.instruction.split_whitespace().eq(step.name.split_whitespace());
        let by_text = || self.stages.iter().flat_map(|stage| &stage.instructions).find(same);
        by_number.or_else(by_text).map(|(index, origin)| (*index, origin))
    }
}

impl Stage {
    /// The instruction with the number of `step`, as BuildKit or Buildah counts.
    fn numbered(&self, step: &Step) -> Option<&(usize, StepOrigin)> {
        let at = (step.number? as usize).checked_sub(1)?;
        let total = step.total? as usize;
        let layers: Vec<&(usize, StepOrigin)> =
            self.instructions.iter().filter(|(_, origin)| self.counts(origin)).collect();
        let all: Vec<&(usize, StepOrigin)> = self.instructions.iter().collect();
        let found = [layers, all].into_iter().find(|counted| counted.len() == total)?.get(at).copied()?;
        Some(found).filter(|(_, origin)| keyword(&origin.instruction) == keyword(&step.name))
    }

    /// Whether BuildKit counts the instruction.
    fn counts(&self, origin: &StepOrigin) -> bool {
        match &*keyword(&origin.instruction) {
            "ADD" | "COPY" | "RUN" | "WORKDIR" => true,
            "FROM" => self.pulls,
            _ => false,
        }
    }
}

fn keyword(instruction: &str) -> String {
    instruction.split_whitespace().next().unwrap_or_default().to_ascii_uppercase()
}
