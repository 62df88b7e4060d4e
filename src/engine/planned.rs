//! The build of a plan.

use std::path::PathBuf;

use super::events::StepOrigin;
use super::request::{BuildRequest, Settings};
use crate::compiler::back::emit::dockerfile;
use crate::compiler::back::plan::{Action, Mount, Plan, Step};
use crate::compiler::manifests::dockerfile::{Instruction, instructions};
use crate::compiler::manifests::dockerignore::{Ignore, escaped};
use crate::compiler::paths;
use crate::context::Context;

/// Path of the Dockerfile in the build context. The engine reads it there, so it is in the image, too.
const DOCKERFILE: &str = ".agentcli/Dockerfile";

impl BuildRequest {
    /// The request to build the image of `plan`, without names and options. The build context is the tree in `root` without
    /// the files that the plan and `ignore` leave out, the Dockerfile, and configurations without the values of `env`.
    ///
    /// # Errors
    ///
    /// A bug, as a fragment: the patterns are checked before.
    pub fn of_plan(plan: &Plan, root: PathBuf, ignore: &[&str]) -> Result<Self, String> {
        // Those that were written before are not sent beside those of this plan.
        let written = plan.server.files.as_deref().map(escaped);
        let patterns = plan.context.ignore.iter().map(String::as_str).chain(ignore.iter().copied());
        let patterns = patterns.chain(written.as_deref());
        let ignore = Ignore::parse(&patterns.collect::<Vec<_>>().join("\n"))
            .map_err(|error| format!("the ignore rules are checked before: {error}"))?;
        Ok(Self {
            context: Context {
                root,
                ignore,
                extra: [(DOCKERFILE.to_owned(), dockerfile::dockerfile(plan).into_bytes())]
                    .into_iter()
                    .chain(plan.server_files().map(|file| (file.path, file.text.into_bytes())))
                    .collect(),
                configurations: plan.context.withheld.clone(),
            },
            dockerfile: DOCKERFILE.to_owned(),
            tags: Vec::new(),
            platform: None,
            pull: false,
            no_cache: false,
            configuration: Some(paths::normalize(&format!("{}/{}", plan.context.project, plan.config.name))),
            images: vec![plan.server.image.clone()],
            images_known: !plan.has_lines_from_outside(),
            steps: plan.steps.iter().flat_map(origins).collect(),
            settings: Settings::default(),
        })
    }
}

/// The instructions of a step, with where they come from.
fn origins(step: &Step) -> Vec<StepOrigin> {
    let origin = |instruction: String, sources| StepOrigin {
        instruction,
        key: Some(step.key.clone()),
        purpose: step.why.clone(),
        sources,
        stages: stages(&step.action),
    };
    match &step.action {
        Action::Lines { lines } => {
            let parsed = |line: &String| instructions(std::slice::from_ref(line)).unwrap_or_default();
            let sources = |line: &String| parsed(line).iter().flat_map(Instruction::sources).collect();
            lines.iter().map(|line| origin(line.clone(), sources(line))).collect()
        }
        Action::Copy { from: None, sources, .. } => {
            vec![origin(dockerfile::instruction(step), sources.clone())]
        }
        _ => vec![origin(dockerfile::instruction(step), Vec::new())],
    }
}

/// The stages that an action needs; the image of a new stage may be one.
fn stages(action: &Action) -> Vec<String> {
    match action {
        Action::Copy { from: Some(stage), .. } => vec![stage.clone()],
        Action::From { image, .. } => vec![image.clone()],
        Action::Run { mounts, .. } => mounts
            .iter()
            .filter_map(|mount| match mount {
                Mount::Bind { from, .. } => Some(from.clone()),
                Mount::Cache { .. } | Mount::Secret { .. } => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}
