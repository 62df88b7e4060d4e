"""The agent that the server runs."""

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langgraph.graph.state import CompiledStateGraph

from agent.model import model_from_environment
from agent.tools import count_words

PROMPT = "You answer questions about texts. Use the tools for everything that has to be counted."


def build(model: BaseChatModel) -> CompiledStateGraph:
    """Returns the agent with `model`."""
    return create_agent(model, tools=[count_words], system_prompt=PROMPT)


graph = build(model_from_environment())
