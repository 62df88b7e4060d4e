//! The templates of `agentcli new`: projects in `templates/new/` that are called `my-agent`.

/// The name of the project in each template.
pub(super) const NAME: &str = "my-agent";

/// The packages that the templates require: a project with such a name would require itself.
pub(super) const REQUIRED: &[&str] =
    &["hatchling", "langchain", "langchain-openai", "langgraph", "pytest", "tsx", "typescript", "zod"];

/// A template of a project.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(super) enum Template {
    /// The smallest graph
    #[default]
    Python,
    /// An agent that calls tools, with a scripted model until a real one is set
    PythonAgent,
    /// The smallest graph, in TypeScript
    Javascript,
    /// Two servers and a library in a uv workspace
    Monorepo,
}

/// The files of `templates/new/$name`, embedded.
macro_rules! embedded {
    ($name:literal: $($file:literal,)*) => {
        &[$(($file, include_str!(concat!("../../../../templates/new/", $name, "/", $file))),)*]
    };
}

impl Template {
    /// The directory of the configuration that the first run uses.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Monorepo => "apps/greeter",
            _ => "",
        }
    }

    /// The paths and texts of the files of a project with this name.
    pub(super) fn files(self, name: &str) -> Vec<(String, String)> {
        self.embedded().iter().map(|(path, text)| ((*path).to_owned(), text.replace(NAME, name))).collect()
    }

    fn embedded(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Python => embedded! { "python":
            ".env.example",
            ".gitignore",
            "README.md",
            "agent.json",
            "pyproject.toml",
            "src/agent/__init__.py",
            "src/agent/graph.py",
            "tests/test_graph.py",
            },
            Self::PythonAgent => embedded! { "python-agent":
            ".env.example",
            ".gitignore",
            "README.md",
            "agent.json",
            "pyproject.toml",
            "src/agent/__init__.py",
            "src/agent/graph.py",
            "src/agent/model.py",
            "src/agent/tools.py",
            "tests/test_graph.py",
            },
            Self::Javascript => embedded! { "javascript":
            ".env.example",
            ".gitignore",
            "README.md",
            "agent.json",
            "package.json",
            "src/graph.ts",
            "tests/graph.test.ts",
            "tsconfig.json",
            },
            Self::Monorepo => embedded! { "monorepo":
            ".env.example",
            ".gitignore",
            "README.md",
            "apps/counter/agent.json",
            "apps/counter/pyproject.toml",
            "apps/counter/src/counter/__init__.py",
            "apps/counter/src/counter/graph.py",
            "apps/counter/tests/test_counter.py",
            "apps/greeter/agent.json",
            "apps/greeter/pyproject.toml",
            "apps/greeter/src/greeter/__init__.py",
            "apps/greeter/src/greeter/graph.py",
            "apps/greeter/tests/test_greeter.py",
            "libs/shared/pyproject.toml",
            "libs/shared/src/shared/__init__.py",
            "libs/shared/tests/test_shared.py",
            "pyproject.toml",
            },
        }
    }
}
