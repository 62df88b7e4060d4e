//! A stage with all that building the project's packages takes, for packages that can only be built where their source
//! is: behind the copy, nothing has to be fetched then, unpacked or compiled, and nothing of it becomes part of the image.
//!
//! Each package is built by PEP 660's hook, in an environment of just its build requirements, as uv and pip do it. What
//! the hook still lacks (it may compute requirements, too) uv or pip provides: they get the package where it fails.

use indexmap::{IndexMap, IndexSet};

use crate::compiler::back::lower::tools::{Tools, prefixed, words};
use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Command, Mount};
use crate::compiler::manifests::dependency::Local;
use crate::compiler::manifests::package::{BuildSystem, build_system};
use crate::compiler::paths;

/// The stage that the builder's stage and the image both start from.
pub(super) const SERVER_STAGE: &str = "server";

/// The builder's stage.
const STAGE: &str = "builder";

/// Where everything of the builder lies, in its stage and where it is mounted.
const HOME: &str = "/run/agentcli/builder";

/// Where built packages lie until they are installed, and the list of them.
const WHEELS: (&str, &str) = ("/run/agentcli/wheels", "/run/agentcli/wheels/list.txt");

/// Builds a package by PEP 660's hook, and lists what came of it. Its arguments: the package's directory, where built
/// packages lie, the backend, and the directories that the backend is imported from.
const PROGRAM: &str = include_str!("../../../../templates/build_package.py");

/// Where it lies.
const PROGRAM_FILE: &str = "/run/agentcli/builder/build_package.py";

/// Writes lines to a file.
const WRITE: &str = r#"import sys;open(sys.argv[1],"w").write("\n".join(sys.argv[2:])+"\n")"#;

/// What builds some packages.
pub(super) struct Builder {
    packages: Vec<Package>,
    /// Build requirements, each list in an environment of its own.
    environments: IndexSet<Vec<String>>,
}

struct Package {
    /// Where it lies in the image.
    directory: String,
    system: BuildSystem,
    /// The index of its environment.
    environment: usize,
}

impl Builder {
    /// What builds `locals`, where their manifests say all of it.
    pub(super) fn new(input: &Input<'_>, locals: &[&Local]) -> Option<Self> {
        if locals.is_empty() || starts_stage(input) {
            return None;
        }
        let mut environments = IndexSet::new();
        let packages = locals.iter().map(|local| {
            let system = build_system(&local.path, input.files)?;
            let (environment, _) = environments.insert_full(system.requires.clone());
            Some(Package { directory: input.layout.in_image(&local.path), system, environment })
        });
        Some(Self { packages: packages.collect::<Option<_>>()?, environments })
    }

    /// The builder's stage, and the image's own start behind it.
    pub(super) fn stage(&self, tools: &Tools, build: &mut Build) {
        let key = "/dependencies";
        let why = "what builds the packages that need their source";
        let from = |stage: Option<&str>| Action::From {
            image: SERVER_STAGE.to_owned(),
            stage: stage.map(str::to_owned),
        };
        build.step(key, why, from(Some(STAGE)));
        let mut commands = Vec::new();
        for (index, requires) in self.environments.iter().enumerate() {
            let directory = environment(index);
            commands.push(words(["python3", "-m", "venv", "--without-pip", &directory]));
            if !requires.is_empty() {
                commands.push(tools.install_into(&directory, requires));
            }
        }
        commands.push(tools.copy(HOME));
        let lines = PROGRAM.lines().map(str::to_owned).collect();
        commands.push(prefixed(&["python3", "-c", WRITE, PROGRAM_FILE], lines));
        build.step(key, why, tools.run(commands));
        build.step(key, "the server", from(None));
    }

    /// Builds and installs the packages, or else installs them with `arguments`.
    pub(super) fn install(&self, tools: &Tools, arguments: Vec<String>) -> Command {
        let tools = tools.copied_to(HOME);
        let mut attempt: Vec<Command> = self.packages.iter().map(Package::build).collect();
        attempt.push(tools.install(["--no-deps", "-r", WHEELS.1].map(str::to_owned).to_vec()));
        Command::Attempt { attempt, otherwise: Box::new(tools.install(arguments)) }
    }

    /// What has to be mounted meanwhile.
    pub(super) fn mounts() -> Vec<Mount> {
        let (from, source, target) = (STAGE.to_owned(), HOME.to_owned(), HOME.to_owned());
        vec![Mount::Bind { from, source, target }, Mount::Tmpfs { target: WHEELS.0.to_owned() }]
    }
}

impl Package {
    fn build(&self) -> Command {
        let python = format!("{}/bin/python", environment(self.environment));
        let words = [&python, PROGRAM_FILE, &self.directory, WHEELS.0, &self.system.backend];
        let paths = self.system.paths.iter().map(|path| paths::join(&self.directory, path));
        Command::Words {
            variables: IndexMap::from([("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())]),
            words: words.into_iter().map(str::to_owned).chain(paths).collect(),
        }
    }
}

fn environment(index: usize) -> String {
    format!("{HOME}/{index}")
}

/// Whether the user's own lines start a stage: the image is then built on that, which has no name.
fn starts_stage(input: &Input<'_>) -> bool {
    let mut lines = input.config.dockerfile_lines.iter().flatten().flat_map(|lines| lines.lines());
    lines.any(|line| line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("from")))
}
