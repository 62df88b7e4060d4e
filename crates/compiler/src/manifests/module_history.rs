//! Modules, and names in modules, that not all versions of a well-known distribution have.

use crate::manifests::symbols::{Call, Import};

/// Names that came or went with a version.
#[derive(Debug)]
pub struct Part {
    /// The normalised name of the distribution.
    pub distribution: &'static str,
    /// The versions that have them.
    pub versions: &'static str,
    names: &'static str,
    /// What to do in the other versions, as an imperative.
    pub help: &'static str,
}

const HISTORY: &[Part] = &[
    Part {
        distribution: "langchain",
        versions: "<1",
        names: "langchain.adapters langchain.agents.AgentExecutor langchain.agents.AgentType langchain.agents.Tool \
                langchain.agents.create_json_chat_agent langchain.agents.create_openai_functions_agent \
                langchain.agents.create_openai_tools_agent langchain.agents.create_react_agent \
                langchain.agents.create_structured_chat_agent langchain.agents.create_tool_calling_agent \
                langchain.agents.create_xml_agent langchain.agents.initialize_agent langchain.agents.load_tools \
                langchain.callbacks langchain.chains langchain.docstore langchain.document_loaders \
                langchain.document_transformers langchain.evaluation langchain.globals langchain.graphs \
                langchain.hub langchain.indexes langchain.llms langchain.memory langchain.output_parsers \
                langchain.prompts langchain.retrievers langchain.runnables langchain.schema langchain.sql_database \
                langchain.storage langchain.text_splitter langchain.tools.StructuredTool langchain.tools.Tool \
                langchain.utilities langchain.vectorstores",
        help: "import it from its new package, such as `langchain_classic` or `langchain_core`, or require \
               `langchain<1` and choose an older server with `api_version`",
    },
    Part {
        distribution: "langchain",
        versions: ">=1",
        names: "langchain.agents.create_agent langchain.agents.middleware langchain.agents.structured_output \
                langchain.messages",
        help: "require `langchain>=1`",
    },
    Part {
        distribution: "langchain-core",
        versions: "<1",
        names: "langchain_core.beta langchain_core.memory langchain_core.pydantic_v1",
        help: "import it from elsewhere, such as `pydantic` for `langchain_core.pydantic_v1`",
    },
    Part {
        distribution: "langgraph",
        versions: "<0.5",
        names: "langgraph.graph.Graph langgraph.graph.graph",
        help: "import `StateGraph` from `langgraph.graph`, or `CompiledStateGraph` from `langgraph.graph.state`, instead",
    },
    Part {
        distribution: "langgraph",
        versions: ">=0.6",
        names: "langgraph.runtime",
        help: "require `langgraph>=0.6`",
    },
];

/// Keywords of functions, after a `:`.
const KEYWORDS: &[Part] = &[
    Part {
        distribution: "langchain",
        versions: "<1",
        names: "langchain.agents.create_agent:prompt langchain.agents.create_agent:state_modifier",
        help: "pass it as `system_prompt`",
    },
    Part {
        distribution: "langgraph",
        versions: "<0.4",
        names: "langgraph.prebuilt.create_react_agent:messages_modifier \
                langgraph.prebuilt.create_react_agent:state_modifier",
        help: "pass it as `prompt`",
    },
];

/// The part that `call` needs.
pub fn passed(call: &Call) -> Option<&'static Part> {
    let wanted = format!("{}:{}", call.function, call.keyword);
    KEYWORDS.iter().find(|part| part.names.split(' ').any(|name| name == wanted))
}

/// The parts of which `import` needs one, each with the dotted name of it.
pub fn needed(import: &Import) -> impl Iterator<Item = (&'static Part, String)> + '_ {
    let parts = HISTORY.iter().filter(|part| part.names.starts_with(import.first()));
    parts.filter_map(|part| {
        let loaded = import.loaded();
        let name = loaded.into_iter().find(|loaded| part.names.split(' ').any(|name| name == loaded))?;
        Some((part, name))
    })
}
