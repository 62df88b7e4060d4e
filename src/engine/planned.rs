//! The build of a plan.

use std::path::PathBuf;

use super::events::StepOrigin;
use super::request::{BuildRequest, Settings};
use crate::compiler::back::emit::dockerfile;
use crate::compiler::back::plan::Plan;
use crate::compiler::manifests::dockerfile::{Instruction, instructions};
use crate::compiler::manifests::dockerignore::{Ignore, escaped};
use crate::compiler::paths;
use crate::context::Context;

/// Path of the Dockerfile in the build context. The engine reads it there, so it is in the image, too.
const DOCKERFILE: &str = ".agentcli/Dockerfile";

/// The key of the user's lines.
const LINES: &str = "/dockerfile_lines";

impl BuildRequest {
    /// The request to build the image of `plan`, without names and options. The build context is the tree in `root` without
    /// the files that the plan leaves out, with the Dockerfile, and configurations without the values of `env`.
    ///
    /// # Errors
    ///
    /// A bug, as a fragment: the patterns are checked before.
    pub fn of_plan(plan: &Plan, root: PathBuf) -> Result<Self, String> {
        // Those that were written before are not sent beside those of this plan.
        let written = plan.server.files.as_deref().map(escaped);
        let patterns = plan.context.ignore.iter().map(String::as_str).chain(written.as_deref());
        let ignore = Ignore::parse(&patterns.collect::<Vec<_>>().join("\n"))
            .map_err(|error| format!("the ignore rules are checked before: {error}"))?;
        let text = dockerfile::dockerfile(plan);
        let steps = origins(&text, plan);
        Ok(Self {
            context: Context {
                root,
                ignore,
                extra: [(DOCKERFILE.to_owned(), text.into_bytes())]
                    .into_iter()
                    .chain(plan.generated_files().into_iter().map(|file| (file.path, file.text.into_bytes())))
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
            steps,
            settings: Settings::default(),
        })
    }
}

/// The instructions of the Dockerfile of a plan, with where they come from.
fn origins(text: &str, plan: &Plan) -> Vec<StepOrigin> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let own = instructions(&plan.image.lines).unwrap_or_default();
    let origin = |instruction: Instruction| {
        let key = key(&instruction, &own, plan);
        StepOrigin {
            purpose: if key == LINES {
                "lines of `dockerfile_lines`".to_owned()
            } else {
                purpose(&lines, &instruction)
            },
            key: Some(key.to_owned()),
            sources: instruction.sources(),
            stages: instruction.stages(),
            instruction: instruction.text,
        }
    };
    instructions(&lines).unwrap_or_default().into_iter().map(origin).collect()
}

/// The comment above the paragraph of an instruction, or how the instruction begins.
fn purpose(lines: &[String], instruction: &Instruction) -> String {
    let above = &lines[..instruction.line];
    // The first line is the heading of the file.
    let start = above.iter().rposition(String::is_empty).map_or(1, |blank| blank + 1);
    let comments = above[start.min(above.len())..].iter().map_while(|line| line.strip_prefix("# "));
    let comment = comments.collect::<Vec<_>>().join(" ");
    if comment.is_empty() {
        let words = instruction.text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        return words.split('=').next().unwrap_or_default().to_owned();
    }
    comment.trim_end_matches('.').to_owned()
}

/// The key of the configuration that an instruction comes from.
fn key(instruction: &Instruction, own: &[Instruction], plan: &Plan) -> &'static str {
    if own.iter().any(|own| own.text == instruction.text) {
        return LINES;
    }
    let is_python = plan.image.python.is_some();
    match instruction.keyword().as_str() {
        "from" if instruction.text.contains(&plan.server.image) => "/base_image",
        "copy" | "run" if is_python => "/dependencies",
        _ => "/graphs",
    }
}
