"""The LLM judge: its prompts, replies, cache and measured agreement with labelled answers."""
