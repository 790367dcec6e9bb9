"""Web-agent tasks as pytest test cases: self-hosted sites, honest verdicts, Allure reports."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("pytest-webarena")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
