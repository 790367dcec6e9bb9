"""Agents of kind ``model``: send observations to a model endpoint and read an action from the reply."""
