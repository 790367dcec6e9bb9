"""Images of pages as evidence: collects them, compares two, and asks a model about one."""

from pytest_webarena.checks.images.captions import Captioner, NoCaptioner

__all__ = ["Captioner", "NoCaptioner"]
