"""Answers that must be computed: choices, numbers, formulas, proofs. Their kinds of check, and what these stand on."""

__all__: list[str] = []
