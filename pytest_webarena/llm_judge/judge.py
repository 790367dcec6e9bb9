"""Asks a judge model: from the cache or the endpoint, again when a reply can't be read, with an error in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Generic, TypeVar

from pytest_webarena.checks.judge_protocol import Grade, JudgeOff, JudgeUnreadable, Question, QuestionKind
from pytest_webarena.errors import ControlResult, JudgeError, ModelError, UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.client import BudgetSpent, ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.messages import Message, ModelReply, Request, Sampling
from pytest_webarena.llm.templates import Template
from pytest_webarena.llm_judge.config import JudgeIdentity, JudgeSettings
from pytest_webarena.llm_judge.replies import WORDS, Read
from pytest_webarena.llm_judge.reply_authenticity import forges, seal_of
from pytest_webarena.llm_judge.reply_cache import Kept, open_verdicts
from pytest_webarena.llm_judge.upstream import UpstreamPrompt, understand_as
from pytest_webarena.owners import EVENTS, outcome_of
from pytest_webarena.results.comparing.uncertainty import least_informed
from pytest_webarena.results.records import JudgeErrors, JudgeRecord

__all__ = ["LONGEST", "NO_JUDGE", "Conversation", "Judge", "JudgeSession", "lines"]

T = TypeVar("T")

LONGEST = 20_000
"""Characters of an answer that a judge is shown. A correct answer never needs more."""

_RUBRIC_TOKENS = 4096
"""Minimum token limit of a reply to a rubric, which contains a quote for each item."""

_FORGED = (
    "; the answer holds lines in the form of a judge's verdict, so the judge's own can't be distinguished "
    "from them: the agent caused that"
)

_EVENTS: Mapping[str, str] = {"refused_request": "judge_refuses", "model_access": "judge_rejects"}
"""Events of a judge, by those of its model."""

NO_JUDGE = "it needs a judge, and there is none: --judge=MODEL, for a finished run with --rescore"


_UNMEASURED: Mapping[QuestionKind, JudgeErrors] = MappingProxyType({})


class Judge:
    """The judge of one worker. Prompt and endpoint are read at the first question, so that it is cheap to create."""

    def __init__(
        self,
        settings: JudgeSettings,
        models: ModelSettings | None = None,
        *,
        worker: str = "main",
        off: str | Mapping[QuestionKind, str] = "",
        errors: Mapping[QuestionKind, JudgeErrors] = _UNMEASURED,
        client: Callable[[str], ModelClient] | None = None,
    ) -> None:
        """Create a judge.

        Args:
            off: Why the judge may not be asked, for all or by kind of question; a missing model needs no reason.
            errors: How often the judge was right, by kind of question, where it was measured.
        """
        self.settings = settings
        self.errors = errors
        self._off = off
        self._identities: dict[QuestionKind, JudgeIdentity] = {}
        self._prompts: dict[QuestionKind, Template | UpstreamPrompt] = {}
        # The client's own cache separates trials, but a judge has to give equal answers equal grades in all of them.
        self._models = replace(models or ModelSettings(), cache=None)
        self._worker = worker
        self._client = client or self._new_client
        self.cache = open_verdicts(settings.cache) if settings.cache is not None else None

    def off(self, kind: QuestionKind) -> str:
        """Return why the judge may not be asked this kind of question; empty when it may."""
        reason = self._off if isinstance(self._off, str) else self._off.get(kind, "")
        return reason or ("" if self.settings.model else NO_JUDGE)

    def identity(self, kind: QuestionKind) -> JudgeIdentity:
        """Return the judge's identity for a kind of question."""
        if kind not in self._identities:
            self._identities[kind] = self.settings.identity(kind)
        return self._identities[kind]

    def prompt(self, kind: QuestionKind) -> Template | UpstreamPrompt:
        """Return the prompt for a kind of question."""
        if kind not in self._prompts:
            own = self.settings.upstream(kind)
            self._prompts[kind] = own if own is not None else Template(self.settings.file(kind), "judge")
        return self._prompts[kind]

    def understand(self, text: str, question: Question, seal: str) -> Read | str:
        """Return what a reply says, or the text to send before the judge is asked again."""
        return understand_as(self.identity(question.kind).prompt, text, question, seal)

    def seal(self, question: Question) -> str:
        """Return the code word that marks the judge's own lines in replies; empty where the prompt does not use one."""
        return seal_of(question) if self.prompt(question.kind).uses("seal") else ""

    def session(self, trial: str) -> JudgeSession:
        """Return a session for one trial; its calls are accounted for under this name."""
        return JudgeSession(self, lambda: self._client(trial))

    def _new_client(self, trial: str) -> ModelClient:
        return ModelClient(self.settings.endpoint, self._models, trial=trial, purpose="judge", worker=self._worker)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(Generic[T]):
    """Result of a dialogue."""

    read: T | str
    """What ``read`` returned for the last reply; a text says why the reply could not be read."""
    replies: tuple[str, ...]
    usage: Usage
    cut: str = ""
    """The end of a sentence that says that the last reply was cut, and why; empty when it was not."""


class JudgeSession:
    """The judge for one trial (`checks.judge_protocol.Asker`), with a record of its use."""

    def __init__(self, judge: Judge, client: Callable[[], ModelClient]) -> None:
        self._judge = judge
        self._make_client = client
        self._client: ModelClient | None = None
        self._questions = self._cached = 0
        self._identities: dict[JudgeIdentity, None] = {}
        self._kinds: dict[QuestionKind, None] = {}
        self._usage = Usage()
        self._grades: dict[Question, Grade | JudgeError] = {}
        self.refused = ""
        """Why a question was refused, if one was."""
        self.event = ""
        """Name in `owners.EVENTS` of the last error; empty if there was none."""
        self.control: ControlResult = "fails"
        """Result of its control."""

    @property
    def use(self) -> JudgeRecord | None:
        """What was used; None when nothing was asked."""
        if not self._questions:
            return None
        first, *others = self._identities
        prompt = " + ".join([first.prompt, *(other.prompt for other in others)])
        return JudgeRecord(
            **{**asdict(first), "prompt": prompt},
            questions=self._questions,
            cached=self._cached,
            usage=self._usage,
            errors=self._errors(),
        )

    def _errors(self) -> JudgeErrors | None:
        """How often the judge was right, for the kinds of question that were asked.

        Of several kinds the one with the least informative judge counts; None if any of them was not measured.
        """
        return least_informed(self._judge.errors.get(kind) for kind in self._kinds)

    def ask(self, question: Question) -> Grade:
        """Return the grade of a question.

        Raises:
            JudgeOff: the judge may not be asked.
            JudgeUnreadable: no reply could be read.
            JudgeError: the model can't be reached, or refuses the question.
        """
        judge = self._judge
        if off := judge.off(question.kind):
            self.refused = off
            raise JudgeOff(off)
        if question not in self._grades:  # several gradings ask the same question
            self._questions += 1
            self._identities[judge.identity(question.kind)] = None
            self._kinds[question.kind] = None
            try:
                self._grades[question] = self._asked(question)
            except JudgeError as error:
                self._grades[question] = self._grade_or_owned(question, error)
        result = self._grades[question]
        if isinstance(result, JudgeError):
            raise result
        return result

    def _grade_or_owned(self, question: Question, error: JudgeError) -> Grade | JudgeError:
        """``error`` with its owner: the agent, if the judge grades the reference in place of the answer.

        If the endpoint failed, it must fail again with the answer after that; otherwise its grade counts. A refusal for
        its key may be chance even then, so its owner stays undecided. So does that of a budget, quota or rate, which
        the agent may have used up.
        """
        self.event, self.control = error.event, "fails"
        event = EVENTS[error.event]
        if error.cause == "agent" or event.control != "question":
            return error
        reference = question.reference or "\n".join(item.what for item in question.items)
        control = replace(question, answer=reference)
        try:
            self._put(control, self._judge.seal(control))  # not from the cache: the judge may have failed since
        except JudgeError as refused:
            self.control = "impossible" if refused.event == "judge_spent" else "fails"
            return error
        if not isinstance(error, JudgeUnreadable):  # which was asked several times
            try:
                return self._asked(question)
            except JudgeError as again:
                error = again
        if error.event == "judge_spent" or outcome_of(event, "recurs") == "undecided":
            self.control = "works"
            return error
        error.cause = "agent"
        error.args = (f"{error}; it grades the reference in place of the answer, so the answer is the cause",)
        return error

    def _asked(self, question: Question) -> Grade:
        judge, identity = self._judge, self._judge.identity(question.kind)
        seal = judge.seal(question)
        kept = judge.cache.get(question, identity, seal) if judge.cache is not None else None
        if cached := kept is not None:
            self._cached += 1
            self._usage += _from_cache(kept.usage)
        else:
            kept = self._put(question, seal)
            if judge.cache is not None:
                kept = judge.cache.put(question, identity, kept, seal)
        read = judge.understand(kept.replies[-1], question, seal)
        assert not isinstance(read, str)  # only replies that were read are stored
        return Grade(
            decision=read.decision,
            awards=read.awards,
            share=read.share,
            replies=kept.replies,
            model=identity.model,
            prompt=identity.prompt,
            temperature=identity.temperature,
            cached=cached,
        )

    def _put(self, question: Question, seal: str) -> Kept:
        """Ask the question until a reply can be read."""
        settings = self._judge.settings
        texts = {name: _sendable(getattr(question, name)) for name in ("intent", "reference", "answer")}
        values = {
            "kind": question.kind,
            "items": question.items,
            **texts,
            "seal": seal,
            "quote": _quote,
            "lines": lines,
        }
        messages = self._judge.prompt(question.kind).messages(values)
        most = _RUBRIC_TOKENS if question.kind == "rubric" else 0
        dialogue = self.converse(
            messages, lambda text: self._judge.understand(text, question, seal), most=most, doubt=_doubt
        )
        if isinstance(dialogue.read, str):
            forged = forges(question)
            unreadable = JudgeUnreadable(
                f"judge {settings.model}: none of {settings.asks} replies {_wanted(question, dialogue.read)}; "
                f"the last one{dialogue.cut} ends with {_end(dialogue.replies[-1])!r}{_FORGED if forged else ''}",
                replies=dialogue.replies,
                cause="agent" if forged else "judge",
            )
            unreadable.event = "forged_verdict" if forged else "judge_unreadable"
            raise unreadable
        return Kept(replies=dialogue.replies, usage=dialogue.usage)

    def converse(
        self,
        messages: tuple[Message, ...],
        read: Callable[[str], T | str],
        *,
        most: int = 0,
        doubt: Callable[[T], str] = lambda found: "",
    ) -> Conversation[T]:
        """Send ``messages`` until ``read`` can read the reply.

        The text that ``read`` returns for a reply that it can't read is sent as the next message.

        Args:
            most: Minimum token limit of a reply.
            doubt: Returns an objection to a reply that can be read but might be better. It is used if no better one
                follows.

        Raises:
            JudgeError: the model can't be reached.
        """
        replies: list[str] = []
        used, cut = Usage(), ""
        found: T | str = ""
        doubtful: Conversation[T] | None = None
        while len(replies) < self._judge.settings.asks:
            reply, spent = self._send(messages, most=most)
            used += spent
            text = reply.text or reply.refusal
            replies.append(text)
            found = read(text)
            cut = f", which was cut ({reply.finish})" if reply.is_cut else ""
            if not isinstance(found, str):
                if not cut:
                    if not (doubted := doubt(found)):
                        break
                    doubtful = Conversation(read=found, replies=tuple(replies), usage=used)
                    messages = (*messages, *_again(reply, doubted))
                    continue
                found = "That reply was cut off before its end. Please answer again, shorter and in the form asked for."
            messages = (*messages, *_again(reply, found))
        if isinstance(found, str) and doubtful is not None:
            return replace(doubtful, usage=used)
        return Conversation(read=found, replies=tuple(replies), usage=used, cut=cut)

    def _send(self, messages: tuple[Message, ...], *, most: int) -> tuple[ModelReply, Usage]:
        """A reply, and the usage of all requests for it."""
        settings = self._judge.settings
        request = Request(
            model=settings.model,
            messages=messages,
            sampling=Sampling(temperature=settings.temperature, max_tokens=max(most, settings.max_tokens)),
        )
        if self._client is None:
            self._client = self._make_client()
        used = Usage()
        try:
            reply = self._client.ask(request)
        except BudgetSpent as spent:
            raise _failed(
                "judge_spent",
                f"judge {settings.model}: the run's budget for model calls is used up: {spent}; "
                "judge the run again with --rescore and a higher --max-cost",
            ) from None
        except UsageError as error:  # no key or no SDK; cached replies need neither, so they are checked only here
            raise _failed("judge_access", f"judge {settings.model}: {error}") from None
        except ModelError as error:
            event = "judge_spent" if error.spent else _EVENTS.get(error.event, "judge_fails")
            text = f"judge: {error}; the trial is recorded and can be judged again with --rescore"
            raise _failed(event, text) from error
        finally:
            used += self._client.take_usage()
            self._usage += used
        return reply, used


def _failed(event: str, message: str) -> JudgeError:
    error = JudgeError(message)
    error.event = event
    return error


def _again(reply: ModelReply, objection: str) -> tuple[Message, Message]:
    return replace(reply.message, items=()), Message(role="user", text=objection)


def _doubt(read: Read) -> str:
    return read.doubt


def _sendable(text: str) -> str:
    """``text`` that an endpoint accepts: an answer that is too long or malformed must not end as the judge's error."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} […] (cut here; {len(text) - LONGEST} more characters)"


def _quote(text: str) -> str:
    """``text`` as a JSON string: one line whose end can't be forged."""
    return json.dumps(text, ensure_ascii=False)


def lines(text: str) -> str:
    """Return ``text`` with a bar before each line, so that no line of it can pass for one of the prompt's."""
    return "\n".join(f"| {line}" for line in text.splitlines() or [""])


def _wanted(question: Question, feedback: str) -> str:
    """What none of the replies did, as part of a message."""
    if question.kind == "rubric":
        fault = feedback.partition(": ")[2].partition(". Please")[0]
        return f"gives each item its points once, from 0 to what it is worth ({fault})"
    if question.kind == "rule":
        return "ends with a line of a number from 0 to 1"
    return f"ends with a line of {_either(WORDS[question.kind])}"


def _from_cache(usage: Usage) -> Usage:
    """The usage of an answer from the cache: no cost, only what it saved."""
    return replace(usage, cached_calls=usage.calls, cost=0.0, saved=usage.cost)


def _either(words: Iterable[str]) -> str:
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}"


def _end(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][-80:] if lines else ""
