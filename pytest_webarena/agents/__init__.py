"""Agents, which map observations to actions: the protocol, the registry and the built-in agents.

An agent is any object with ``act``, made by the class or factory that ``--agent=module:name`` names:

>>> class Shopper:
...     def __init__(self, task: TaskView) -> None:
...         self.intent = task.intent
...
...     def act(self, observation: Observation) -> Reply:
...         return Reply("```stop [done]```", thought=f"{self.intent} is all there was to do")
>>> Shopper(TaskView(intent="Nothing")).act(None).thought
'Nothing is all there was to do'

A grammar parses text replies:

>>> grammar("webarena").parse("I see it. ```click [42]```")
Click(target=Element(id='42'), button='left', count=1, modifiers=())
"""

from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.protocol import (
    Agent,
    AgentDefinition,
    AgentLimits,
    Assignment,
    InputImage,
    Remembering,
    Reply,
    SelfDriving,
    TaskView,
)
from pytest_webarena.agents.registry import known_agents, resolve_agent
from pytest_webarena.browser.grammars import Grammar, grammar, grammars
from pytest_webarena.browser.grammars.tools import parse_call, tools
from pytest_webarena.browser.observation import Observation

__all__ = [
    "Agent",
    "AgentDefinition",
    "AgentLimits",
    "Assignment",
    "Grammar",
    "InputImage",
    "Observation",
    "Remembered",
    "Remembering",
    "Reply",
    "SelfDriving",
    "TaskView",
    "grammar",
    "grammars",
    "known_agents",
    "parse_call",
    "resolve_agent",
    "tools",
]
