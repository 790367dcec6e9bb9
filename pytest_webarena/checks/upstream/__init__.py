"""The evaluators of WebArena and VisualWebArena as check kinds, and the repairs of what is wrong with them."""

__all__: list[str] = []
