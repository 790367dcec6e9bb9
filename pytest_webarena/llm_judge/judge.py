"""Asks a judge model: the cache first, then the endpoint, again when a reply can't be read, an error in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import cached_property

from pytest_webarena.checks.asking import Grade, JudgeOff, JudgeUnreadable, Question
from pytest_webarena.errors import JudgeError, ModelError, UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.client import BudgetSpent, ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.messages import Message, ModelReply, Request, Sampling
from pytest_webarena.llm.templates import Template
from pytest_webarena.llm_judge.config import JudgeIdentity, JudgeSettings, prompt_file
from pytest_webarena.llm_judge.replies import WORDS, read_reply
from pytest_webarena.llm_judge.verdicts import Kept, VerdictCache
from pytest_webarena.results.records import JudgeRecord

__all__ = ["LONGEST", "NO_JUDGE", "Judge", "JudgeSession"]

LONGEST = 20_000
"""Characters of an answer that a judge is shown. Nobody who knows the answer needs more to say it."""

NO_JUDGE = "it needs a judge, and there is none: --judge=MODEL, for a finished run with --rescore"


class Judge:
    """One worker's judge. Cheap to make: prompt and endpoint are touched at the first question."""

    def __init__(
        self,
        settings: JudgeSettings,
        models: ModelSettings | None = None,
        *,
        worker: str = "main",
        off: str = "",
        client: Callable[[str], ModelClient] | None = None,
    ) -> None:
        """``off``: why the judge may not be asked; without a model that is clear anyway."""
        self.settings = settings
        self.off = off or ("" if settings.model else NO_JUDGE)
        # The client's own cache tells trials apart; judges are to say the same of the same answer, whoever gave it.
        self._models = replace(models or ModelSettings(), cache=None)
        self._worker = worker
        self._client = client or self._new_client
        self.cache = VerdictCache(settings.cache) if settings.cache is not None else None

    @cached_property
    def identity(self) -> JudgeIdentity:
        """Which judge this is."""
        return self.settings.identity()

    @cached_property
    def prompt(self) -> Template:
        """How it is asked."""
        return Template(prompt_file(self.settings.prompt), "judge")

    def session(self, trial: str) -> JudgeSession:
        """An asker for one trial; its calls are booked under that name."""
        return JudgeSession(self, lambda: self._client(trial))

    def _new_client(self, trial: str) -> ModelClient:
        return ModelClient(self.settings.endpoint, self._models, trial=trial, purpose="judge", worker=self._worker)


class JudgeSession:
    """One trial's asker (`checks.asking.Asker`); keeps count of what it used."""

    def __init__(self, judge: Judge, client: Callable[[], ModelClient]) -> None:
        self._judge = judge
        self._make_client = client
        self._client: ModelClient | None = None
        self._questions = self._cached = 0
        self._usage = Usage()
        self._told: dict[Question, Grade | JudgeUnreadable] = {}
        self.refused = ""
        """Why a question was turned away, if one was."""

    @property
    def use(self) -> JudgeRecord | None:
        """What was used; None when nothing was asked."""
        if not self._questions:
            return None
        return JudgeRecord(
            **asdict(self._judge.identity), questions=self._questions, cached=self._cached, usage=self._usage
        )

    def ask(self, question: Question) -> Grade:
        """The grade. Raises `JudgeOff`, `JudgeUnreadable` and, when the model can't be reached, `JudgeError`."""
        judge = self._judge
        if judge.off:
            self.refused = judge.off
            raise JudgeOff(judge.off)
        if question not in self._told:  # several gradings ask the same
            self._questions += 1
            try:
                self._told[question] = self._asked(question)
            except JudgeUnreadable as unreadable:
                self._told[question] = unreadable
        told = self._told[question]
        if isinstance(told, JudgeUnreadable):
            raise told
        return told

    def _asked(self, question: Question) -> Grade:
        judge = self._judge
        kept = judge.cache.get(question, judge.identity) if judge.cache is not None else None
        if cached := kept is not None:
            self._cached += 1
            self._usage += _from_cache(kept.usage)
        else:
            kept = self._put(question)
            if judge.cache is not None:
                kept = judge.cache.put(question, judge.identity, kept)
        decision = read_reply(kept.replies[-1], question.kind)
        assert decision is not None  # only replies that were read are kept
        return Grade(
            decision=decision,
            replies=kept.replies,
            model=judge.identity.model,
            prompt=judge.identity.prompt,
            temperature=judge.identity.temperature,
            cached=cached,
        )

    def _put(self, question: Question) -> Kept:
        """Put the question until a reply can be read."""
        settings = self._judge.settings
        texts = {name: _sendable(getattr(question, name)) for name in ("intent", "reference", "answer")}
        messages = self._judge.prompt.messages({"kind": question.kind, **texts, "quote": _quote})
        replies: list[str] = []
        used, cut = Usage(), ""
        while len(replies) < settings.asks:
            reply = self._send(messages)
            self._usage += reply.usage
            used += reply.usage
            text = reply.text or reply.refusal
            replies.append(text)
            cut = f", which was cut ({reply.finish})" if reply.is_cut else ""
            if not cut and read_reply(text, question.kind) is not None:
                return Kept(replies=tuple(replies), usage=used)
            lines = " or ".join(f"GRADE: {word}" for word in WORDS[question.kind])
            told = f"No grade could be read from that. Please end with one line that is exactly {lines}."
            messages = (*messages, Message(role="assistant", text=text), Message(role="user", text=told))
        raise JudgeUnreadable(
            f"judge {settings.model}: none of {settings.asks} replies ends with a line of "
            f"{_either(WORDS[question.kind])}; the last one{cut} ends with {_end(replies[-1])!r}",
            replies=tuple(replies),
        )

    def _send(self, messages: tuple[Message, ...]) -> ModelReply:
        settings = self._judge.settings
        request = Request(
            model=settings.model,
            messages=messages,
            sampling=Sampling(temperature=settings.temperature, max_tokens=settings.max_tokens),
        )
        if self._client is None:
            self._client = self._make_client()
        try:
            return self._client.ask(request)
        except BudgetSpent as spent:
            raise JudgeError(
                f"judge {settings.model}: the run's budget for model calls is used up: {spent}; "
                "judge the run again with --rescore and a higher --max-cost"
            ) from None
        except (
            UsageError
        ) as error:  # no key, no SDK: what is in the cache needs neither, so it was not asked for before
            raise JudgeError(f"judge {settings.model}: {error}") from None
        except ModelError as error:
            raise JudgeError(f"judge: {error}; the trial is recorded and can be judged again with --rescore") from error


def _sendable(text: str) -> str:
    """``text`` as an endpoint takes it: an answer that is too long or broken must not end as the judge's error."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} […] (cut here; {len(text) - LONGEST} more characters)"


def _quote(text: str) -> str:
    """``text`` as a JSON string: one line, and its end can't be forged."""
    return json.dumps(text, ensure_ascii=False)


def _from_cache(usage: Usage) -> Usage:
    """What answering from the cache used: nothing, and what it saved."""
    return replace(usage, cached_calls=usage.calls, cost=0.0, saved=usage.cost)


def _either(words: Iterable[str]) -> str:
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}"


def _end(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][-80:] if lines else ""
