"""Tests of the agent, with the scripted model."""

from agent.graph import build
from agent.model import ScriptedModel
from agent.tools import count_words


def test_answers_with_the_result_of_a_tool() -> None:
    question = {"role": "user", "content": "How long is this message?"}
    messages = build(ScriptedModel()).invoke({"messages": [question]})["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert "5 words" in messages[-1].text


def test_counts_words() -> None:
    assert count_words(" one  two\nthree ") == 3
