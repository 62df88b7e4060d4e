"""The chat model, or a substitute that needs no key."""

import os
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Calls `count_words` with the last message, and then answers with the result."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            answer = AIMessage(f"Your message has {last.content} words. Set MODEL to ask a real model.")
        else:
            call = {"name": "count_words", "args": {"text": last.text}, "id": f"call_{len(messages)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def model_from_environment() -> BaseChatModel:
    """Returns the model that the variable MODEL names, such as `openai:gpt-5-mini`."""
    name = os.environ.get("MODEL")
    return init_chat_model(name) if name else ScriptedModel()
