"""Images of pages as evidence: collecting them, comparing two, asking a model about one."""

from pytest_webarena.checks.images.captions import Captioner, NoCaptioner

__all__ = ["Captioner", "NoCaptioner"]
