"""Asks a model what an image shows: the protocol `Captioner`, and BLIP-2 from the local cache as its default."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.errors import WebArenaError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["ENTRY_POINTS", "Blip2", "Captioner", "NoCaptioner", "answer_through", "find_captioner"]

ENTRY_POINTS = "webarena.captioners"
"""Entry point group of captioners: a callable without arguments that returns one."""

_MODEL = "Salesforce/blip2-flan-t5-xl"
"""The model that VisualWebArena's evaluator uses."""

_NEW_TOKENS = 32


class NoCaptioner(WebArenaError):
    """No model for questions about images is available; the message names what to install. The checks that need it are
    undecided."""


class Captioner(Protocol):
    """A model that looks at an image."""

    def answer(self, image: Image, question: str) -> str:
        """Returns the answer to a question about one image. Any exception makes the verdict undecided."""


_instead: list[Captioner] = []


def answer_through(captioner: Captioner) -> None:
    """Send all further questions of this process to ``captioner``."""
    _instead[:] = [captioner]


def find_captioner() -> Captioner:
    """Returns the captioner of the entry point group ``webarena.captioners``, or BLIP-2. Raises `NoCaptioner`."""
    return _instead[0] if _instead else _installed()


@functools.cache
def _installed() -> Captioner:
    from importlib.metadata import entry_points  # late: few tasks have questions about images

    points = list(entry_points(group=ENTRY_POINTS))
    if len(points) > 1:
        names = ", ".join(sorted(point.name for point in points))
        raise NoCaptioner(f"expected one captioner among the entry points {ENTRY_POINTS}, found {names}: leave one")
    if points:
        try:
            captioner: Captioner = points[0].load()()
        except Exception as error:  # third-party code
            raise NoCaptioner(f"the captioner {points[0].value} can't be loaded: {error}") from error
        return _Remembering(captioner)
    return _Remembering(Blip2())


class _Remembering:
    """Caches answers, because a task with several gradings repeats questions and a model may take many seconds."""

    def __init__(self, captioner: Captioner) -> None:
        self._captioner = captioner
        self._said: dict[tuple[str, str], str] = {}

    def answer(self, image: Image, question: str) -> str:
        key = hashlib.sha256(f"{image.mode} {image.size}".encode() + image.tobytes()).hexdigest(), question
        if key not in self._said:
            self._said[key] = self._captioner.answer(image, question)
        return self._said[key]


class Blip2:
    """BLIP-2 of ``transformers``, with weights from the local cache only: nothing is ever downloaded.

    It uses a GPU with half precision if there is one, as VisualWebArena's runs do.
    """

    def __init__(self, model: str = _MODEL) -> None:
        """Load the model. Raises `NoCaptioner` when libraries or weights are missing."""
        missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
        if missing:
            raise NoCaptioner(
                f"image questions need BLIP-2, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not "
                f"installed: `pip install 'pytest-webarena[captions]'`, then `hf download {model}`"
            )
        import torch
        import transformers

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._dtype = torch.float16 if self._device == "cuda" else torch.float32
        try:
            self._processor: Any = transformers.Blip2Processor.from_pretrained(model, local_files_only=True)
            loaded = transformers.Blip2ForConditionalGeneration.from_pretrained(
                model, torch_dtype=self._dtype, local_files_only=True
            )
        except (OSError, ValueError, ImportError) as error:
            raise NoCaptioner(
                f"image questions need BLIP-2, whose weights are not in the local cache: `hf download {model}`"
            ) from error
        self._model: Any = loaded.to(self._device)

    def answer(self, image: Image, question: str) -> str:
        """Returns BLIP-2's answer; the prompt is that of VisualWebArena's evaluator."""
        asked = self._processor(images=image.convert("RGB"), text=f"Q: {question} A:", return_tensors="pt")
        tokens = self._model.generate(**asked.to(self._device, self._dtype), max_new_tokens=_NEW_TOKENS)
        return str(self._processor.batch_decode(tokens, skip_special_tokens=True)[0])
