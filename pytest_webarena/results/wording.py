"""Short human words for recorded things."""

from __future__ import annotations

from pytest_webarena.evidence import StepRecord

__all__ = ["action_words"]

_DETAILS = ("text", "url", "keys", "answer", "options", "direction", "index", "reason")


def action_words(step: StepRecord) -> str:
    """What a step did, as a person would say it, at most about 100 characters.

    >>> action_words(StepRecord(index=0, action={"kind": "goto", "url": "http://a.test/"}, raw=""))
    'goto http://a.test/'
    """
    action = step.action
    words = [str(action.get("kind", "?"))]
    if step.target is not None and (step.target.role or step.target.name or step.target.tag):
        words.append(f"{step.target.role or step.target.tag} {step.target.name or step.target.text!r}".strip())
    elif isinstance(target := action.get("target"), dict):
        words.append(str(target.get("selector") or target.get("id") or f"({target.get('x')}, {target.get('y')})"))
    detail = next((action[name] for name in _DETAILS if action.get(name) not in (None, "", [], ())), None)
    if detail is not None:
        words.append(str(detail) if action.get("kind") == "goto" else repr(detail))
    text = " ".join(words)
    return text if len(text) <= 100 else text[:99] + "…"
