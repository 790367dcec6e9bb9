"""Exit codes from thresholds."""

from __future__ import annotations

from pytest_webarena.results import TrialKey, TrialRecord, summarise
from pytest_webarena.results.gate import BELOW_THRESHOLD, TOO_MANY_ERRORS, UNSETTLED, Gate
from pytest_webarena.results.wording import DECIDE, EXPLAIN
from tests.cases import each_case


def summaries(**agents: str) -> dict:  # type: ignore[type-arg]
    """Summarise agents by outcomes: p passed, f failed, ? undecided, d undecided owner of an error, e error."""
    outcome = {"p": "passed", "f": "failed", "?": "failed", "e": "error", "d": "failed"}
    return summarise(
        TrialRecord(
            key=TrialKey(f"t{i}", agent, 1),
            outcome=outcome[letter],  # type: ignore[arg-type]
            stop_reason="unattributed" if letter == "d" else "answered",
            verdict={"schema_version": 3, "judgeable": letter in "?d"},
        )
        for agent, letters in agents.items()
        for i, letter in enumerate(letters)
    )


@each_case(
    ("gate", "agents", "code"),
    [
        (Gate(), {"a": "fff"}, None),
        (Gate(min_pass_rate=0.3), {"a": "pff"}, 0),
        (Gate(min_pass_rate=0.34), {"a": "pff"}, BELOW_THRESHOLD),
        (Gate(min_pass_rate=0.5), {"a": "pp", "b": "pf"}, 0),
        (Gate(min_pass_rate=0.6), {"a": "pp", "b": "pf"}, BELOW_THRESHOLD),
        (Gate(min_pass_rate=1.0, max_errors=1), {"a": "ppe"}, 0),  # errors are excluded from the rate
        (Gate(min_pass_rate=0.1), {"a": "ppe"}, TOO_MANY_ERRORS),  # but there may be none unless they are allowed
        (Gate(min_pass_rate=0.6), {"a": "ppd"}, 0),  # an undecided owner is no error
        (Gate(min_pass_rate=0.7), {"a": "ppd"}, UNSETTLED),
        (Gate(min_pass_rate=0.7), {"a": "pfd"}, BELOW_THRESHOLD),
        # The bounds of undecided trials decide: passed if the lower one passes, failed if the upper one fails.
        (Gate(min_pass_rate=0.5), {"a": "pp?f"}, 0),
        (Gate(min_pass_rate=0.6), {"a": "pp?f"}, UNSETTLED),
        (Gate(min_pass_rate=0.75), {"a": "pp?f"}, UNSETTLED),
        (Gate(min_pass_rate=0.76), {"a": "pp?f"}, BELOW_THRESHOLD),
        (Gate(min_pass_rate=0.5), {"a": "??"}, UNSETTLED),
        (Gate(min_pass_rate=0.5), {"a": "p?", "b": "f?ff"}, BELOW_THRESHOLD),  # the stronger one
        (Gate(min_pass_rate=0.6, rate_end="low"), {"a": "p" * 14 + "?" * 6}, UNSETTLED),
        (Gate(min_pass_rate=0.4, rate_end="low"), {"a": "p" * 14 + "?" * 6}, 0),
        (Gate(min_pass_rate=0.9, rate_end="low"), {"a": "p" * 14 + "?" * 6}, BELOW_THRESHOLD),
        (Gate(min_pass_rate=0.9, rate_end="high"), {"a": "p" * 14 + "?" * 6}, UNSETTLED),
        (Gate(min_pass_rate=0.1, max_errors=1), {"a": "pee"}, TOO_MANY_ERRORS),
        (Gate(max_errors=0), {"a": "pe"}, TOO_MANY_ERRORS),
        (Gate(max_errors=0), {"a": "pf"}, 0),
        (Gate(max_errors=1), {"a": "pe"}, 0),
        (Gate(max_errors=0.1), {"a": "p" * 19 + "e"}, 0),
        (Gate(max_errors=0.1), {"a": "p" * 8 + "ee"}, TOO_MANY_ERRORS),
        (Gate(min_pass_rate=0.9, max_errors=0), {"a": "fe"}, TOO_MANY_ERRORS),  # the stronger one
        (Gate(min_pass_rate=0.1), {"a": "ee"}, TOO_MANY_ERRORS),  # nothing judged
        (Gate(min_pass_rate=0.1), {}, TOO_MANY_ERRORS),
    ],
)
def test_gate_exit_codes_for_outcomes(gate: Gate, agents: dict[str, str], code: int | None) -> None:
    ruling = gate.rule(summaries(**agents))
    assert (ruling.exit_code if ruling else None) == code


def test_gate_message_has_rate_and_threshold() -> None:
    ruling = Gate(min_pass_rate=0.5).rule(summaries(cot="pff"))
    assert ruling is not None
    assert ruling.message == "cot: 33.3% passed, --min-pass-rate asks for 50.0%"


def test_gate_message_says_what_undecided_trials_leave_open() -> None:
    unsettled = Gate(min_pass_rate=0.75).rule(summaries(cot="pp?f"))
    assert unsettled is not None
    assert unsettled.message == (
        "cot: 50.0% passed, --min-pass-rate asks for 75.0%; unsettled: 75.0% if all 1 undecided are met; decide them: "
        "pytest --rescore RUN --judge MODEL"
    )
    failed = Gate(min_pass_rate=0.9).rule(summaries(cot="pp??f"))
    assert failed is not None
    assert failed.message == (
        "cot: 40.0% passed, --min-pass-rate asks for 90.0%; it fails even if all 2 undecided are met (80.0%)"
    )


def test_gate_message_has_the_end_of_the_interval_that_counts() -> None:
    ruling = Gate(min_pass_rate=0.6, rate_end="low").rule(summaries(cot="pppp??"))
    assert ruling is not None
    assert ruling.message == (
        "cot: 30.0% is the lower end of the 95% interval of the rate, 66.7%, --min-pass-rate asks for 60.0%; "
        "unsettled: 61.0% is the lower end of the 95% interval of the rate, 100.0% if all 2 undecided are met; "
        "decide them: pytest --rescore RUN --judge MODEL"
    )
    none_passed = Gate(min_pass_rate=0.3, rate_end="high").rule(summaries(cot="fff"))
    assert none_passed is not None
    assert none_passed.exit_code == 0  # the rate may be as high as 56.2%


def test_gate_message_says_how_to_repeat_trials_without_an_owner() -> None:
    ruling = Gate(min_pass_rate=0.5).rule(summaries(cot="pfd?"))
    assert ruling is not None
    assert ruling.exit_code == UNSETTLED
    assert f"{DECIDE}; {EXPLAIN}" in ruling.message


def test_cost_row_counts_trials_of_unknown_cost() -> None:
    from pytest_webarena.evidence import Usage
    from pytest_webarena.plugin.reporting.rates import _cost_rows
    from pytest_webarena.results.records import Attempt

    used = (Usage(calls=1, input_tokens=9, cost=0.02), None, None)
    records = [TrialRecord(key=TrialKey(f"t{n}", "a", 1), outcome="passed", usage=each) for n, each in enumerate(used)]
    lines = [line.text for line in _cost_rows(summarise(records)["a"])]
    assert "not known of 2 of 3 trials" in lines[-1]
    poor = TrialRecord(key=TrialKey("t8", "a", 1), outcome="error", cause="model", event="budget")
    idle = Attempt(number=1, outcome="error", cause="site", usage=Usage())
    early = TrialRecord(key=TrialKey("t9", "a", 1), outcome="error", cause="site", attempts=(idle,))
    lines = [line.text for line in _cost_rows(summarise([*records, poor, early])["a"])]
    assert "not known of 2 of 3 trials" in lines[-1]  # the others never began
    assert len(list(_cost_rows(summarise([records[0], poor, early])["a"]))) == 1
