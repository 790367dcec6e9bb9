"""The model agent: sends the observation to a model, reads an action from the reply, and asks again if there is
none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Goto, Invalid, Note, Search, Stop
from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.model.chat import Chat
from pytest_webarena.agents.model.computer.screens import Region
from pytest_webarena.agents.model.computer.session import ComputerUse
from pytest_webarena.agents.model.examples import examples
from pytest_webarena.agents.model.history import (
    Turn,
    describe_action,
    is_same_target,
    memory_request,
    summary_request,
)
from pytest_webarena.agents.model.hosts import HostMap
from pytest_webarena.agents.model.limits import reached_limit
from pytest_webarena.agents.model.model_call_files import ModelCallFiles
from pytest_webarena.agents.model.replies import (
    ACTION_SCHEMA,
    Decision,
    QueuedAction,
    decide,
    reply_with_result,
    retry_messages,
)
from pytest_webarena.agents.model.reward import REWARD_SCHEMA, LimitReached, Rewarder
from pytest_webarena.agents.model.style import Reward, Style
from pytest_webarena.agents.protocol import Assignment, Reply
from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.forms import prompt_lines
from pytest_webarena.browser.pageless import NO_PAGE
from pytest_webarena.errors import ModelError, WebArenaError
from pytest_webarena.evidence import StopReason, Usage
from pytest_webarena.llm.client import BudgetSpent, ModelClient, OutOfTime, RequestRejected, budget_error
from pytest_webarena.llm.messages import Image, Message, ModelReply, Request, limit_words, media_type
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation

__all__ = ["ModelAgent"]

_PAGE_OMITTED = "(this page is no longer shown)"
_LISTED = 8
_CUT = {
    "context": "ended its reply because its context was full",
    "filtered": "ended its reply because of a content filter",
}
_REMEDIES = {
    "context": "; show less of pages (observation.max_tokens) or of earlier steps (history), or take a model with a "
    "longer context",
    "filtered": "",
}
_BEGIN = "The first action has to be a search or a goto. Begin with one of these."


class ModelAgent:
    """The model agent of one trial."""

    def __init__(self, assignment: Assignment, style: Style, client: ModelClient, reward: Reward | None = None) -> None:
        self._view = assignment.view
        self._limits = assignment.limits
        self._style = style
        self._client = client
        observed = ObservationConfig(kinds=style.kinds)
        has_pictures = observed.pictured()
        self._inputs = tuple(self._image(each.data, each.media_type) for each in self._view.images if has_pictures)
        self._reward = reward
        rewards_by_screenshot = reward is not None and reward.keys.sees == "screenshot"
        self._screenshot_is_for_reward = rewards_by_screenshot and not observed.pictured("plain")
        """Whether the page's screenshot is for the reward model only."""
        self._notes: list[str] = []
        self._has_acted = False
        """Whether there was a valid action."""
        self._hosts = HostMap({**assignment.view.sites, **assignment.view.reach}, style.host_names or {})
        self._rewarder = self._make_rewarder(reward) if reward is not None else None
        self._call_files = ModelCallFiles(assignment.folder)
        self._deadline = client.now + seconds if (seconds := assignment.limits.seconds) is not None else None
        self._turns: list[Turn] = []
        self._reply_limit = limit_words(style.sampling, style.extra or {})
        self._computer = style.computer
        self._zooms: tuple[Region | None, ...] = ()
        """Parts of the screenshot that the results of the last reply's computer calls show."""
        self._current_call = 0
        """Number of the last reply's call that was carried out last."""
        self._is_shown = False
        """Whether the screenshot is in the result of a call, so that the next prompt does not need it."""
        self._queued_actions: tuple[QueuedAction, ...] = ()
        """Further actions of the last reply."""
        self._seen_page = ""
        """The page that the model saw before its last reply."""
        is_chat = style.history.policy == "chat"
        self._chat = Chat(style.history, self._inputs, computer=self._computer is not None) if is_chat else None
        self._summarised_count = 0
        self._summary = ""
        self._total_usage = Usage()
        self._step_usage = Usage()

    def act(self, observation: Observation) -> Reply:
        """Ask the model for the next action. `ModelError` when the endpoint keeps failing; a reached limit is returned
        as a `Reply`."""
        if self._turns and self._style.error_feedback:
            self._turns[-1].error = observation.error
            if self._chat is not None and observation.error:
                self._chat.failed(self._hosts.to_shown(observation.error))
        if self._turns:
            self._turns[-1].page_after = self._hosts.to_shown(f"{shorten(observation.title)} at {observation.url}")
        self._step_usage = Usage()
        if self._computer is not None:
            self._see_screen(self._computer, observation)
        step = len(self._turns)
        try:
            reply = self._act(observation)
        except BudgetSpent as spent:
            if not self._total_usage.calls:
                raise budget_error(spent) from None
            reply = self._stopped("cost", f"the run's budget for model calls: {spent}")
        except OutOfTime:
            reply = self._stopped("time", "the model did not answer within the limit")
        except LimitReached as reached:
            reply = reached.reply
        except RequestRejected as rejected:
            reply = self._stopped(rejected.rejection, f"{rejected}{_REMEDIES[rejected.rejection]}")
        except ModelError as error:
            error.usage = self._step_usage
            raise
        finally:
            model_calls = self._call_files.write(f"{step:03d}")
        return replace(reply, usage=self._step_usage, model_calls=model_calls)

    def remember(self, reason: StopReason) -> Remembered | None:
        """Notes for later trials, which replace those that this one had; None after a token or cost limit, or without a
        step. `ModelError` when the model fails."""
        if not self._turns or reason in ("tokens", "cost"):
            return None
        self._step_usage, self._deadline = Usage(), None
        intent = self._hosts.to_shown(self._view.intent)
        try:
            reply = self._ask("memory", memory_request(intent, self._view.memory or "", self._turns, reason))
            notes = reply.text_without_thought.strip()
            if not notes:
                raise ModelError(f"model {self._style.model}: expected notes for later trials, got an empty reply")
        except BudgetSpent as spent:
            raise budget_error(spent) from None
        except ModelError as error:
            error.usage = self._step_usage
            raise
        finally:
            self._call_files.write("memory")
        return Remembered(text=notes, usage=self._step_usage)

    def cut_off(self) -> None:
        """Send no more requests, because the trial continued without an answer."""
        self._client.cancel()
        if self._reward is not None:
            self._reward.client.cancel()

    def _stopped(self, reason: StopReason, detail: str) -> Reply:
        return Reply("", ended=(reason, detail))

    def _act(self, observation: Observation) -> Reply:
        if (later := self._next_queued_action(observation)) is not None:
            return later
        if (
            self._turns
            and self._rewarder is not None
            and (final_reply := self._assess_last_step(self._rewarder, observation))
        ):
            return final_reply
        if self._style.history.policy == "summary":
            self._summarise()
        messages = self._messages(observation)
        asked, retries = len(messages), 0
        while True:
            reply = self._ask("action", messages)
            style = self._style
            read = self._computer.read if self._computer is not None else None
            decision = decide(
                reply, style.form, style.parse, style.parse_call, style.remarks, limit=self._reply_limit, read=read
            )
            if self._computer is not None and (refusal := self._computer.refusal(decision.checks)):
                return replace(self._stopped("filtered", refusal), raw=decision.raw, thought=decision.thought)
            if not self._has_acted and observation.text != NO_PAGE:
                decision = self._checked_first_decision(decision)
            if not isinstance(decision.action, Invalid) or retries >= self._style.invalid_retries:
                break
            if (ended := self._limit()) is not None:
                return ended
            retries += 1
            picture = self._computer.image if self._computer is not None else None
            retry = retry_messages(reply, decision.action.reason, screenshot=picture, checks=decision.checks)
            messages = (*messages, *retry)
        self._add_turn(observation, decision)
        if self._chat is not None:
            self._extend_chat(self._chat, observation, messages[asked - 1 :], reply, decision)
        self._queued_actions, self._seen_page = decision.next, observation.text
        self._zooms, self._current_call = decision.zooms, 0
        action = self._hosts.to_real(decision.action)
        if self._computer is not None:
            self._computer.carried_out(action)
        self._has_acted = self._has_acted or not isinstance(action, Invalid)
        if isinstance(action, Note):
            self._notes.append(action.text)
        return Reply(action, raw=decision.raw, thought=decision.thought, retries=retries)

    def _see_screen(self, computer: ComputerUse, observation: Observation) -> None:
        """Take over the screenshot, and add it to the result of the call that was carried out last."""
        computer.observe(observation)
        zoom = self._zooms[self._current_call] if self._current_call < len(self._zooms) else None
        shown = computer.image if zoom is None else computer.enlarged(zoom)
        if self._chat is not None:
            self._is_shown = self._chat.show(shown, self._hosts.to_shown(observation.url), whole=zoom is None)

    def _next_queued_action(self, observation: Observation) -> Reply | None:
        """The next action of a reply with several; None if there is none. The rest is dropped after an action without
        effect, on which it depends, and before an element that the model has not seen."""
        if not self._queued_actions:
            return None
        (queued, *rest), why = self._queued_actions, ""
        if observation.error or observation.dialog:
            why = "a dialog opened" if observation.dialog else "the call before it had no effect"
        elif not is_same_target(queued.action, self._seen_page, observation.text):
            why = "its element is no longer the one on the page that you saw"
        self._queued_actions = () if why else tuple(rest)
        if self._chat is not None:
            self._chat.skipped(why, queued.call) if why else self._chat.carried_out(queued.call)
        if why:
            return None
        self._current_call = queued.call
        action = self._hosts.to_real(queued.action)
        if self._computer is not None:
            self._computer.carried_out(action)
        if isinstance(action, Note):
            self._notes.append(action.text)
        self._turns.append(
            Turn(
                number=len(self._turns) + 1,
                action=self._hosts.to_shown(describe_action(queued.action, queued.text, observation.text)),
                url=self._hosts.to_shown(observation.url),
            )
        )
        return Reply(action, raw="(a further action of the last reply)")

    def _checked_first_decision(self, decision: Decision) -> Decision:
        """The first decision, or an invalid one if the first action must be a search or a goto and is not."""
        if self._style.first_step == "any" or isinstance(decision.action, Goto | Search | Invalid):
            return decision
        return replace(decision, action=Invalid(decision.raw, _BEGIN))

    def _make_rewarder(self, reward: Reward) -> Rewarder:
        who = f"model {reward.model} at {reward.where}"
        return Rewarder(reward.keys, reward.prompt, self._ask_reward, who=who, guide=self._hosts.to_shown(reward.guide))

    def _assess_last_step(self, rewarder: Rewarder, observation: Observation) -> Reply | None:
        """Let the reward model judge the last step; return a reply that ends the trial, or None."""
        assert self._reward is not None
        keys, shot, task_images = self._reward.keys, observation.screenshot, self._view.images
        pictures: tuple[Image, ...] = ()
        if keys.sees == "screenshot":
            pictures = tuple(Image(data=each.data, media_type=each.media_type) for each in task_images)
            pictures += (Image(data=shot, media_type=media_type(shot)),) if shot else ()
        values = {
            **self._values(observation, observation.text),
            "intent": self._intent(len(task_images) if pictures else 0),
            "history": self._turns,
            "pictured": keys.sees == "screenshot" and bool(shot),
        }
        verdict, is_over = rewarder.judge(values, tuple(replace(each, detail=keys.image_detail) for each in pictures))
        self._turns[-1].reflection = verdict.reflection
        if is_over:
            verdict_text = f"The reward model said: {verdict.reflection} ({verdict.reason})"
            return Reply(Stop("\n".join(self._notes)), raw=verdict_text, thought=verdict.reason)
        return self._limit()

    def _ask_reward(self, messages: tuple[Message, ...]) -> ModelReply:
        assert self._reward is not None
        keys = self._reward.keys
        if messages[-2:-1] and messages[-2].role == "assistant" and (ended := self._limit()) is not None:
            raise LimitReached(ended)  # its last reply was unreadable
        request = Request(
            model=self._reward.model,
            messages=messages,
            sampling=keys.sampling,
            schema=REWARD_SCHEMA,
            extra=keys.extra,
        )
        return self._send("reward", self._reward.client, request)

    def _ask(self, purpose: str, messages: tuple[Message, ...]) -> ModelReply:
        style = self._style
        acting = purpose == "action"
        request = Request(
            model=style.model,
            messages=messages,
            sampling=style.sampling,
            tools=style.tools if acting else (),
            computer=self._computer.tool if acting and self._computer is not None else None,
            schema=ACTION_SCHEMA if acting and style.form == "json" else None,
            extra=style.extra or {},
        )
        return self._send(purpose, self._client, request)

    def _send(self, purpose: str, client: ModelClient, request: Request) -> ModelReply:
        try:
            reply = client.ask(request, deadline=self._deadline)
        except (WebArenaError, BudgetSpent, OutOfTime) as error:
            self._call_files.add(purpose, request, None, str(error) or type(error).__name__)
            raise
        finally:
            used = client.take_usage()
            self._step_usage += used
            self._total_usage += used
        self._call_files.add(purpose, request, reply)
        if reply.cut_by == "context" or reply.cut_by == "filtered":
            why = f": {shorten(reply.refusal)}" if reply.refusal else ""
            reason = f"model {request.model} {_CUT[reply.cut_by]} (finish reason {reply.finish!r}){why}"
            raise RequestRejected(reason, reply.cut_by)
        return reply

    def _limit(self) -> Reply | None:
        """A reply that ends the trial if a limit was reached between two requests of one step; otherwise None."""
        found = reached_limit(self._limits, self._total_usage)
        return self._stopped(*found) if found is not None else None

    def _summarise(self) -> None:
        pending = self._turns[self._summarised_count :]
        if len(pending) < (self._style.history.length or _LISTED):
            return
        reply = self._ask("summary", summary_request(self._hosts.to_shown(self._view.intent), self._summary, pending))
        if summary := reply.text_without_thought.strip():
            self._summary, self._summarised_count = summary, len(self._turns)

    def _messages(self, observation: Observation) -> tuple[Message, ...]:
        *head, prompt = self._style.prompt.messages(self._values(observation, observation.text))
        if head and head[-1].role == "system":
            head[-1] = replace(head[-1], cache=True)
        pictures = (None if self._screenshot_is_for_reward else observation.screenshot, observation.marked)
        page = [self._image(data, media_type(data)) for data in pictures if data]
        if self._computer is not None:
            page = [] if self._is_shown or self._computer.image is None else [self._computer.image]
        if self._chat is not None:
            return self._chat.messages(head, replace(prompt, images=tuple(page)))
        return (*head, replace(prompt, images=(*self._inputs, *page)))

    def _extend_chat(
        self, chat: Chat, observation: Observation, asked: Sequence[Message], reply: ModelReply, decision: Decision
    ) -> None:
        """Add a step: its prompt and replies without an action (``asked``), and its last reply."""
        without_page = self._style.prompt.messages(self._values(observation, _PAGE_OMITTED, number=len(self._turns)))[
            -1
        ]
        prompt, *retries = asked
        wrong = decision.action if isinstance(decision.action, Invalid) else None
        reason = wrong.reason if wrong is not None and self._style.error_feedback else ""
        picture = self._computer.image if self._computer is not None else None
        answer = retry_messages if reason else reply_with_result
        last = answer(reply, reason, screenshot=picture, checks=decision.checks)
        chat.add(replace(prompt, cache=False), without_page, (*retries, *last), valid=wrong is None)

    def _image(self, data: bytes, media_type: str) -> Image:
        return Image(data=data, media_type=media_type, detail=self._style.image_detail)

    def _intent(self, pictures: int) -> str:
        """The task's intent with the host names shown to the model, and which images of the message belong to it."""
        label = ("", "The first picture belongs", f"The first {pictures} pictures belong")[min(pictures, 2)]
        label = "" if self._chat is not None else label  # which shows them in a message of their own
        return self._hosts.to_shown(self._view.intent) + (f"\n({label} to this task.)" if label else "")

    def _values(self, observation: Observation, page: str, *, number: int = 0) -> dict[str, Any]:
        """All variables that a prompt file may use. ``number`` is that of the step; 0: the next one."""
        style, show = self._style, self._hosts.to_shown
        feedback = style.error_feedback
        return {
            "intent": self._intent(len(self._inputs)),
            "sites": self._hosts.sites,
            "observation": show(page),
            "url": show(observation.url),
            "title": observation.title,
            "tabs": observation.tabs,
            "previous_action": self._turns[-1].action if self._turns else "None",
            "history": self._history_turns(),
            "summary": self._summary,
            "memory": self._view.memory or "",
            "policy": style.history.policy,
            "error": show(observation.error) if feedback else "",
            "notes": [show(note) for note in observation.notes] if feedback else [],
            "dialog": observation.dialog,
            "focused": observation.focused,
            "scroll": observation.scroll.describe(),
            "step": number or len(self._turns) + 1,
            "max_steps": self._view.max_steps,
            "grammar": style.grammar,
            "reply": style.form,
            "kinds": style.kinds,
            "forms": prompt_lines(style.kinds),
            "reasoning": style.reasoning,
            "planning": style.planning,
            "react": style.react,
            "first_step": style.first_step,
            "searching": style.searching,
            "examples": examples(self._view.answer_format) if style.examples else (),
            "unachievable_hint": style.unachievable_hint,
            "answer_instructions": self._view.answer_instructions,
            "pageless": observation.text == NO_PAGE,
        }

    def _history_turns(self) -> Sequence[Turn]:
        history = self._style.history
        for turn in self._turns:
            turn.set_details(thoughts=self._style.react or history.policy == "reflections", pages=self._style.react)
        if history.policy in ("actions", "reflections"):
            return self._turns[-history.length :] if history.length else self._turns
        return self._turns[self._summarised_count :] if history.policy == "summary" else ()

    def _add_turn(self, observation: Observation, decision: Decision) -> None:
        text = decision.action_text or decision.raw
        self._turns.append(
            Turn(
                number=len(self._turns) + 1,
                action=self._hosts.to_shown(describe_action(decision.action, text, observation.text)),
                url=self._hosts.to_shown(observation.url),
                thought=decision.thought,
                description=decision.description,
            )
        )
