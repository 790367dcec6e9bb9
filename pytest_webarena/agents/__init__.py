"""Anything that maps observations to actions: the protocol, the registry and the built-in agents."""

from pytest_webarena.agents.protocol import Agent, AgentDefinition, Assignment, Reply, TaskView
from pytest_webarena.agents.registry import resolve_agent

__all__ = ["Agent", "AgentDefinition", "Assignment", "Reply", "TaskView", "resolve_agent"]
