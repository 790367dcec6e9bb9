"""Template tags of the store."""
