"""Web-agent tasks as pytest test cases: self-hosted sites, honest verdicts, Allure reports."""

from typing import Any

__all__ = ["__version__"]

__version__: str


def __getattr__(name: str) -> Any:
    """Look up the version on first access, because every pytest session with this package installed imports this
    module."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pytest-webarena")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
