"""Agents that try to score without doing their task. None of them may, as far as the docs promise it."""
