"""Classification of endpoint errors as context overflow, content filter or neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.errors import ModelError
from pytest_webarena.llm.client import ModelRefused, RequestRejected
from pytest_webarena.llm.messages import Sampling, cut_by
from pytest_webarena.llm.rejections import rejection_of
from pytest_webarena.owners import event_of, outcome_of
from tests.cases import each_case
from tests.model_server import Answer, fail, model_server
from tests.unit.llm.helpers import client_of, question


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens. Please reduce the length."
)
RAW = json.dumps(error(VLLM, code=400))
TOO_LONG: dict[str, tuple[int, Any]] = {
    "OpenAI, chat": (400, error("too many", type="invalid_request_error", code="context_length_exceeded")),
    "OpenAI, Responses": (400, error("Your input exceeds the context window of this model.", code=None)),
    "OpenAI, one text": (400, error("Invalid 'messages[1].content': string too long. Expected a maximum length 9.")),
    "OpenAI, one part": (400, error("Invalid 'input[3].content[0].text': string too long. Expected a maximum 9.")),
    "OpenAI, an output": (400, error("Invalid 'input[3].output': string too long. Expected a maximum length 9.")),
    "OpenAI, the input": (400, error("Invalid 'input': string too long. Expected a maximum length 9.")),
    "vLLM": (400, {"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400}),
    "vLLM, engine": (400, error("The decoder prompt (length 5000) is longer than the maximum model length of 4096.")),
    "LiteLLM": (400, error("litellm.ContextWindowExceededError: OpenAIException", type=None, code="400")),
    "LiteLLM, 500": (500, error("x", type="ContextWindowExceededError")),
    "llama.cpp": (
        400,
        error("request (9 tokens) exceeds the available context size", type="exceed_context_size_error"),
    ),
    "SGLang": (400, {"message": "The input (9 tokens) is longer than the model's context length (4 tokens)."}),
    "TGI": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 `inputs` "
            "tokens and 384 `max_new_tokens`"
        },
    ),
    "Anthropic": (400, error("prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error")),
    "Gemini": (400, error("The input token count (12) exceeds the maximum number of tokens allowed (9).")),
    "OpenRouter": (400, error("Provider returned error", code=400, metadata={"raw": RAW, "provider_name": "x"})),
    "Mistral": (400, {"message": "Prompt contains 9 tokens, too large for model with 4 maximum context length"}),
    "a bare text": (400, VLLM),
    "Gemini, a list": (400, [error("The input token count (12) exceeds the maximum number of tokens allowed (9).")]),
    "Mistral, nested": (
        400,
        {"message": {"detail": [{"msg": "Prompt is too large for model with 4 maximum context length"}]}},
    ),
    "watsonx": (
        400,
        {"errors": [{"code": "invalid_input_argument", "message": "the number of input tokens 9 cannot exceed 4"}]},
    ),
    "a detail": (400, {"detail": VLLM}),
    "LiteLLM, wrapped": (
        400,
        error(f"litellm.BadRequestError: AnthropicException - {json.dumps(error('prompt is too long: 9 > 4'))}"),
    ),
    "Cohere": (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4 - received 9."}),
    "Qwen": (
        400,
        error(
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
            code="invalid_parameter_error",
        ),
    ),
    "z.ai": (400, error("Prompt exceeds max length", code="1261")),
    "NIM": (
        400,
        {"title": "Bad Request", "status": 400, "detail": "Input length 9 exceeds maximum allowed token size 4"},
    ),
    "Bedrock": (400, {"detail": "Malformed input request: expected maxLength: 200000, actual: 310000"}),
    "Anthropic, bytes": (
        413,
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
    ),
    "llama.cpp, 500": (500, error("Context size has been exceeded.", code=500, type="server_error")),
    "vLLM, 500": (500, error(VLLM)),
    "a reply and an input": (
        400,
        error(
            "max_tokens is too large: 384. This model's maximum context length is 4096 tokens and your request has "
            "4000 input tokens"
        ),
    ),
}
BLOCKED: dict[str, tuple[int, Any]] = {
    "Azure": (400, error("filtered", code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"})),
    "Azure, inner": (400, error("filtered", code="BadRequest", innererror={"code": "ResponsibleAIPolicyViolation"})),
    "OpenAI": (400, error("Invalid prompt: flagged as potentially violating our usage policy.", code="invalid_prompt")),
    "LiteLLM": (400, error("litellm.ContentPolicyViolationError: AzureException", code="400")),
    "OpenRouter": (403, error("Your input was flagged", code=403, metadata={"flagged_input": "x", "reasons": ["y"]})),
    "Alibaba": (400, error("Input data may contain inappropriate content.", code="data_inspection_failed")),
    "Gemini, a list": (400, [error("The prompt was blocked due to PROHIBITED_CONTENT", status="INVALID_ARGUMENT")]),
    "Anthropic, Bedrock": (400, error("Output blocked by content filtering policy", type="invalid_request_error")),
    "DeepSeek": (400, error("Content Exists Risk", code="invalid_request_error")),
    "Ark": (400, error("the input text may contain it", code="InputTextSensitiveContentDetected")),
    "Zhipu": (400, error("系统检测到输入", code="1301")),
    "xAI": (
        403,
        {"code": "The caller does not have permission", "error": "Content violates usage guidelines. API key ID: y"},
    ),
    "Portkey": (446, error("The guardrail checks defined in the config failed.", type="hooks_failed")),
    "a guardrail": (
        400,
        error("{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'Sorry'}", code="400"),
    ),
}
OTHER: dict[str, tuple[int, Any]] = {
    "key": (401, error("maximum context length", code="context_length_exceeded")),
    "rights": (403, error("Your plan does not allow this context length; maximum context length is 9")),
    "rate": (429, error("Request too large for m: tokens per min: Limit 3, requested 9", code="rate_limit_exceeded")),
    "rate by size": (413, error("Request too large, tokens per minute (TPM): reduce the length of the messages")),
    "quota": (400, error("You exceeded your quota: the input tokens exceeded it", code="insufficient_quota")),
    "a parameter": (400, error("Unsupported value: 'temperature'", code="unsupported_value")),
    "another prompt": (400, error("Invalid Responses API request", code="invalid_prompt")),
    "a moderation parameter": (400, error("Unknown parameter: 'moderation'")),
    "a large body": (413, "<html>413 Request Entity Too Large</html>"),
    "what it repeats": (422, {"detail": [{"msg": "not valid", "input": VLLM}]}),
    "a fault": (500, error("maximum context", code="server_error")),
    "a gateway": (502, error(VLLM)),
    "a code for something else": (400, error(VLLM, code="unknown_parameter")),
    "an inner code": (400, {"errors": [{"message": VLLM, "innererror": {"code": "rate_limit_exceeded"}}]}),
    "a key": (400, [error("prompt is too long", code="invalid_api_key")]),
    "a filter that is not there": (400, error("The content filter 'x' blocked", code="InvalidContentFilterPolicy")),
    "a filter parameter": (400, error("Unknown parameter: 'content_filter'")),
    "an id": (400, error("Invalid 'input[3].call_id': string too long. Expected a maximum length 64.")),
    "an id of a call": (400, error("Invalid 'messages[2].tool_calls[0].id': string too long. Expected 40.")),
    "a name": (400, error("Invalid 'messages[0].name': string too long. Expected a maximum length 64.")),
    "a description": (400, error("Invalid 'tools[0].function.description': string too long. Expected 1024")),
    "a quoted prompt": (400, error("Invalid JSON at messages[1]: '...don't exceed; prompt is too long...'")),
    "a cut quotation": (400, error("Invalid JSON: 'what a content filter blocked; the prompt is too long")),
    "a prompt after a long text": (400, error("Bad request " + "x " * 400 + "the prompt is too long")),
    "what Python repeats": (400, error(str([{"type": "literal_error", "msg": "not valid", "input": VLLM}]))),
    "a page": (400, "<html>The prompt is too long</html>"),
    "a page of a firewall": (403, "<html>blocked by content filter</html>"),
    "a quoted sum": (400, error("Invalid JSON at messages[1]: 'add 5 + 196000 > 200000; max_tokens: 9 > 8'")),
    "a reply limit and a rate": (429, error("max_tokens is too large: 9", param="max_tokens")),
    "nothing": (400, None),
}
ANTHROPIC_SUM = (
    "input length and `max_tokens` exceed context limit: {} + {} > 200000, decrease input length or `max_tokens`"
)
SETTINGS: dict[str, tuple[int, Any]] = {
    "OpenAI": (
        400,
        error(
            "max_tokens is too large: 90000. This model supports at most 16384 completion tokens",
            type="invalid_request_error",
            param="max_tokens",
            code="invalid_value",
        ),
    ),
    "OpenAI, text only": (400, error("max_tokens is too large: 9. This model supports at most 4 completion tokens")),
    "OpenAI, Responses": (
        400,
        error("Invalid 'max_output_tokens'", param="max_output_tokens", code="integer_above_max_value"),
    ),
    "OpenAI, another name": (
        400,
        error("Unsupported parameter: 'max_tokens'", param="max_tokens", code="unsupported_parameter"),
    ),
    "OpenAI, a setting": (
        400,
        error("Unsupported value: 'temperature'", param="temperature", code="unsupported_value"),
    ),
    "OpenAI, an effort": (400, error("Unsupported value", param="reasoning.effort", code="unsupported_value")),
    "OpenAI, a screenshot": (400, error("The image is too large", code="image_too_large")),
    "Anthropic, a screenshot's bytes": (
        400,
        error("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
    ),
    "Anthropic": (
        400,
        error(
            "max_tokens: 90000 > 8192, which is the maximum allowed number of output tokens for m",
            type="invalid_request_error",
        ),
    ),
    "Anthropic, a sum": (400, error(ANTHROPIC_SUM.format(5000, 196000), type="invalid_request_error")),
    "Anthropic, a sum with separators": (400, error(ANTHROPIC_SUM.format("5,000", "200,000"))),
    "Anthropic, a screenshot": (400, error("x", details={"error_code": "image_dimensions_too_large"})),
    "Google": (
        400,
        error(
            "Unable to submit request because it has a maxOutputTokens value of 90000 but the supported range is from "
            "1 (inclusive) to 65537 (exclusive). Update the value and try again.",
            status="INVALID_ARGUMENT",
        ),
    ),
    "Google, a field": (
        400,
        error("Invalid", details=[{"fieldViolations": [{"field": "generation_config.max_output_tokens"}]}]),
    ),
    "Groq": (
        400,
        error("`max_tokens` must be less than or equal to `8192`, the maximum value is less than the `context_window`"),
    ),
    "DeepSeek": (400, error("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]")),
    "Qwen": (400, error("Range of max_tokens should be [1, 8192]", code="invalid_parameter_error")),
    "Pydantic": (422, {"detail": [{"loc": ["body", "max_tokens"], "msg": "Input should be less than 9", "input": 9}]}),
    "TGI": (
        422,
        {"error": "`inputs` tokens + `max_new_tokens` must be <= 9. Given: 4 `inputs` tokens and 8 `max_new_tokens`"},
    ),
    "max_tokens, vLLM": (
        400,
        error(
            "max_tokens is too large: 40000. This model's maximum context length is 32768 tokens and your request "
            "has 812 input tokens"
        ),
    ),
    "max_tokens, OpenAI": (
        400,
        error(
            "maximum context length is 4097 tokens. However, you requested 9812 tokens (812 in the messages, "
            "9000 in the completion)",
            code="context_length_exceeded",
        ),
    ),
}
UNCLEAR: dict[str, tuple[int, Any]] = {
    "without numbers": (400, error("The prompt and max_tokens together exceed what the model can take")),
    "TGI, other numbers": (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 9. Given: 12"}),
}


@each_case(("status", "body"), TOO_LONG.values(), ids=list(TOO_LONG))
def test_context_overflow_errors_are_recognised(status: int, body: Any) -> None:
    assert rejection_of(status, body) == "context"


@each_case(("status", "body"), BLOCKED.values(), ids=list(BLOCKED))
def test_content_filter_errors_are_recognised(status: int, body: Any) -> None:
    assert rejection_of(status, body) == "filtered"


@each_case(("status", "body"), OTHER.values(), ids=list(OTHER))
def test_other_errors_are_not_rejections(status: int, body: Any) -> None:
    assert rejection_of(status, body) == ""


@each_case(("status", "body"), SETTINGS.values(), ids=list(SETTINGS))
def test_refused_settings_are_never_the_agents_fault(status: int, body: Any) -> None:
    assert rejection_of(status, body) == "setting"


@each_case(("status", "body"), UNCLEAR.values(), ids=list(UNCLEAR))
def test_lengths_without_usable_numbers_are_unclear(status: int, body: Any) -> None:
    assert rejection_of(status, body) == "unclear"


@pytest.mark.parametrize("input_tokens", [4000, 190000])
def test_larger_part_of_a_sum_is_at_fault(input_tokens: int) -> None:
    body = error(ANTHROPIC_SUM.format(input_tokens, 200001 - input_tokens))
    assert rejection_of(400, body) == ("context" if input_tokens > 100000 else "setting")


@each_case(
    ("body", "event", "outcome", "named"),
    [
        (SETTINGS["OpenAI"][1], "refused_setting", "error", "lower sampling.max_tokens (384)"),
        (SETTINGS["OpenAI, an effort"][1], "refused_setting", "error", "change reasoning.effort"),
        (SETTINGS["OpenAI, a screenshot"][1], "refused_setting", "error", "a smaller 'viewport'"),
        (UNCLEAR["without numbers"][1], "refused_length", "undecided", "lower sampling.max_tokens (384), or show less"),
    ],
)
def test_error_for_a_refused_setting_names_the_key_to_change(body: Any, event: str, outcome: str, named: str) -> None:
    with model_server([Answer(status=400, raw=json.dumps(body).encode())]) as server:
        with pytest.raises(ModelRefused) as raised:
            client_of(server).ask(question(sampling=Sampling(max_tokens=384)))
        assert server.requests == 1
    found = event_of(raised.value)
    assert (found.name, outcome_of(found, None if found.control == "none" else "impossible")) == (event, outcome)
    assert named in str(raised.value)
    assert raised.value.control is None


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_rejection_is_raised_and_not_retried(api: Any) -> None:
    for status, body in (TOO_LONG["vLLM"], BLOCKED["Azure"]):
        with model_server([Answer(status=status, raw=json.dumps(body).encode())]) as server:
            with pytest.raises(
                RequestRejected, match=r"model priced at http://.* refused the request, which .*HTTP 400"
            ):
                client_of(server, api=api).ask(question())
            assert server.requests == 1
    with model_server([fail(401, VLLM)]) as server, pytest.raises(ModelRefused) as caught:
        client_of(server, api=api).ask(question())
    assert not isinstance(caught.value, RequestRejected)


def test_rejections_in_a_200_or_a_stream_are_recognised() -> None:
    fault = error("Input is too long: maximum context length is 4", code=400)["error"]
    choice = {"choices": [{"index": 0, "message": {"content": ""}, "finish_reason": "error", "error": fault}]}
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": "context_length_exceeded"}}}
    streamed = {"type": "error", "code": "context_length_exceeded", "message": "too long"}
    kind = {"Content-Type": "text/event-stream"}
    for api, answer in (
        ("chat", Answer(raw=json.dumps(error(VLLM, code=400)).encode())),
        ("chat", Answer(raw=json.dumps([error(VLLM, code=400)]).encode())),
        ("chat", Answer(raw=json.dumps({"object": "error", "message": VLLM, "code": 400}).encode())),
        ("chat", Answer(raw=json.dumps(choice).encode())),
        ("chat", Answer(raw=b"data: " + json.dumps(choice).encode() + b"\n\n", headers=kind)),
        ("chat", Answer(raw=b"data: " + json.dumps({"errors": [error(VLLM)]}).encode() + b"\n\n", headers=kind)),
        ("chat", Answer(raw=b"data: " + json.dumps(error(VLLM)).encode() + b"\n\n", headers=kind)),
        ("responses", Answer(raw=b"data: " + json.dumps(failed).encode() + b"\n\n", headers=kind)),
        ("responses", Answer(raw=b"data: " + json.dumps(streamed).encode() + b"\n\n", headers=kind)),
    ):
        with model_server([answer]) as server, pytest.raises(RequestRejected) as caught:
            client_of(server, api=api).ask(question())
        assert caught.value.rejection == "context"
    rate = Answer(raw=json.dumps(error("tokens per minute: maximum context length", code=429)).encode())
    with model_server([rate]) as server, pytest.raises(ModelError, match="gave up"):
        client_of(server).ask(question())


def test_azure_prompt_filter_without_choices_is_a_rejection() -> None:
    results = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": True, "severity": "high"}}}]
    whole = json.dumps({"choices": [], "prompt_filter_results": results}).encode()
    for headers, raw in (({}, whole), ({"Content-Type": "text/event-stream"}, b"data: " + whole + b"\n\n")):
        with model_server([Answer(raw=raw, headers=headers)]) as server, pytest.raises(RequestRejected) as caught:
            client_of(server).ask(question())
        assert (caught.value.rejection, server.requests) == ("filtered", 1)


@each_case(
    ("finish", "by"),
    [
        ("length", "length"),
        ("max_output_tokens", "length"),
        ("model_context_window_exceeded", "context"),
        ("content_filter", "filtered"),
        ("SAFETY", "filtered"),
        ("content_filter: SAFETY", "filtered"),
        ("content_filtered", "filtered"),
        ("guardrail_intervened", "filtered"),
        ("sensitive", "filtered"),
        ("stop", ""),
        ("tool_calls", ""),
    ],
)
def test_finish_reason_names_the_cause_of_truncation(finish: str, by: str) -> None:
    assert cut_by(finish) == by
