"""Makes the modules beside these task files importable for ``python`` checks, wherever pytest is started."""
