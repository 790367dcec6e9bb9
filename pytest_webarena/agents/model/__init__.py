"""Agents of kind ``model``: prompt a model endpoint with what is seen, and read an action from the reply."""
