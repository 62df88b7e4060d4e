//! `agentcli plan`

use crate::cli::agent_lock;
use crate::cli::build_options::in_long_help;
use crate::cli::compile::PlanOptions;
use crate::cli::env::Env;
use crate::cli::table;
use crate::compiler::back::plan;
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(mut_args(in_long_help))]
pub(crate) struct Plan {
    #[command(flatten)]
    options: PlanOptions,

    /// Print the whole plan as JSON
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.options.plan_image(env, agent_lock::ByDefault::Never)?;
        if self.json {
            let text = serde_json::to_string_pretty(&planned.plan)
                .map_err(|error| Error::Internal(error.to_string()))?;
            return Ok(env.out.line(&text)?);
        }
        let rows: Vec<Vec<String>> = rows(&planned.plan)
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(fact, values)| vec![fact.to_owned(), values.join(", ")])
            .collect();
        let text = table::render(&env.out, &["FACT", "VALUE"], &rows);
        Ok(env.out.write(&text)?)
    }
}

/// The facts of a plan that a reader looks for first, each with its values.
fn rows(plan: &plan::Plan) -> Vec<(&'static str, Vec<String>)> {
    let mut rows = vec![
        ("base image", vec![plan.server.image.clone()]),
        ("directory", vec![plan.server.directory.clone()]),
        ("context", plan.context.include.clone()),
        ("own lines", plan.image.lines.clone()),
    ];
    if let Some(python) = &plan.image.python {
        let installs: Vec<&plan::Install> = python.installs.iter().chain(&python.late).collect();
        let all = |part: fn(&plan::Install) -> &Vec<String>| -> Vec<String> {
            installs.iter().flat_map(|install| part(install).clone()).collect()
        };
        rows.extend([
            ("Python packages", all(|install| &install.packages)),
            ("requirements files", all(|install| &install.files)),
            ("requirements", all(|install| &install.requirements)),
            ("lock files", python.locks.iter().map(|lock| lock.file.clone()).collect()),
            ("import path", python.import_path.clone()),
            ("removed tools", python.removed_tools.clone()),
        ]);
    }
    if let Some(node) = &plan.image.node {
        let own = node.install_command.iter().map(|own| own.command.clone());
        let install = node.install.iter().map(|install| install.command.clone());
        rows.push(("JavaScript packages", install.chain(own).collect()));
    }
    rows.extend([
        ("settings", plan.contract.keys().cloned().collect()),
        ("env", plan.env.file.iter().chain(&plan.env.names).cloned().collect()),
        ("not in the image", plan.image.secret_files.iter().chain(&plan.context.withheld).cloned().collect()),
    ]);
    rows
}
