"""The model APIs, by their names in definitions."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_webarena.llm.anthropic_api import AnthropicMessages
from pytest_webarena.llm.api import API
from pytest_webarena.llm.endpoint import APIName
from pytest_webarena.llm.google_api import GoogleGenAI
from pytest_webarena.llm.openai_apis import Chat, Responses

__all__ = ["APIS"]

APIS: Mapping[APIName, API] = {
    "chat": Chat(),
    "responses": Responses(),
    "anthropic": AnthropicMessages(),
    "google": GoogleGenAI(),
}
