"""The gateway's parser compared with h11: whatever it accepts, h11 parses the same way."""

from __future__ import annotations

import h11
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_webarena.gateway.framing import Capture, ChunkedBody
from pytest_webarena.gateway.heads import BadMessage, header_pairs, parse_request, parse_response

# Pieces that parsers are known to disagree about, glued together at random.
PIECES = [
    *("Content-Length", "Transfer-Encoding", "content-length", "Host", "Connection", "Upgrade", "Expect", "X-A", "TE"),
    *(": ", ":", " :", ",", ", ", ";", "=", '"', " ", "\t", "\r\n", "\n", "\r", "\0", "\x0b", "\x85", "\xa0", "\xff"),
    *("chunked", "gzip", "identity", "close", "keep-alive", "upgrade", "websocket", "100-continue", "homepage.test"),
    *("0", "4", "5", "+5", "-1", "0x5", "1_0", "\xb2", "9" * 20, "é"),
]
junk = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
name = st.sampled_from(["Content-Length", "Transfer-Encoding", "Connection", "Host", "X-A", "Proxy-A", "Expect"])
field = st.one_of(st.builds("{}: {}".format, name, junk), junk, st.builds("{}:{}".format, name, st.text(max_size=5)))
fields = st.lists(field, max_size=5).map("\r\n".join)


def h11_reads(data: bytes, *, response: bool) -> h11.Request | h11.Response | h11.InformationalResponse | None:
    """Return the head as h11 parses it; None if it refuses."""
    connection = h11.Connection(h11.CLIENT if response else h11.SERVER)
    if response:
        connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
        connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    try:
        event = connection.next_event()
    except h11.RemoteProtocolError:
        return None
    if isinstance(event, (h11.Request, h11.Response, h11.InformationalResponse)):
        return event
    return None


def encodable(text: str) -> bool:
    return all(ord(character) < 256 for character in text)


@given(fields)
@example("Content-Length: 4")
@example("Transfer-Encoding: chunked")
@example("Content-Length: 4\r\nContent-Length: 4")
def test_requests_are_parsed_as_by_h11(text: str) -> None:
    head = f"POST http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\n{text}" + ("\r\n" if text else "")
    if not encodable(head) or "\r\n\r\n" in head:
        return
    try:
        ours = parse_request(head)
    except BadMessage:
        return
    theirs = h11_reads(head.encode("latin-1") + b"\r\n", response=False)
    assert isinstance(theirs, h11.Request)
    pairs = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in theirs.headers.raw_items()]
    assert list(header_pairs(head)) == pairs
    values = [value for key, value in pairs if key.lower() == "content-length"]
    assert values == ([] if ours.length is None else [values[0]])
    assert ours.length == (int(values[0]) if values else None)
    assert ours.chunked == any(key.lower() == "transfer-encoding" for key, _ in pairs)
    forwarded = {line.partition(":")[0].lower() for line in ours.fields}
    assert not forwarded & {"host", "connection", "te", "upgrade", "keep-alive", "proxy-a"}


@given(fields, st.sampled_from([200, 204, 304, 404, 100, 101]))
@example("Content-Length: 4", 200)
@example("Transfer-Encoding: chunked", 200)
def test_responses_are_parsed_as_by_h11(text: str, status: int) -> None:
    head = f"HTTP/1.1 {status} OK\r\n{text}" + ("\r\n" if text else "")
    if not encodable(head) or "\r\n\r\n" in head:
        return
    try:
        ours = parse_response(head)
    except BadMessage:
        return
    theirs = h11_reads(head.encode("latin-1") + b"\r\n", response=True)
    if status == 101:
        return  # h11 wants to have proposed it
    assert isinstance(theirs, (h11.Response, h11.InformationalResponse))
    assert theirs.status_code == ours.status
    pairs = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in theirs.headers.raw_items()]
    assert list(header_pairs(head)) == pairs


chunk_text = st.lists(
    st.sampled_from(
        ["0", "1", "5", "a", "A", "f", "\r\n", "\r\n", "\n", "\r", ";", "x=y", " ", "hello", "X: y", "+", "_"]
    ),
    max_size=14,
).map("".join)
proper = st.lists(st.binary(min_size=1, max_size=300), max_size=5).map(
    lambda parts: "".join(f"{len(part):x}\r\n{part.decode('latin-1')}\r\n" for part in parts) + "0\r\n\r\n"
)


@given(st.one_of(chunk_text, proper, st.builds("{}{}".format, proper, chunk_text)), st.data())
def test_chunks_are_parsed_as_by_h11(text: str, data: st.DataObject) -> None:
    raw = text.encode("latin-1")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    parts = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    whole, split = _feed([raw]), _feed(parts)
    assert whole == split
    if isinstance(whole, str) or not whole[1]:
        return
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + raw)
    content = b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        content += event.data if isinstance(event, h11.Data) else b""
    assert (content, connection.trailing_data[0]) == (whole[0], raw[whole[2] :])


def _feed(parts: list[bytes]) -> tuple[bytes, bool, int] | str:
    """Return content, completeness and bytes used; or ``malformed``."""
    capture = Capture(10_000)
    body = ChunkedBody(capture)
    used = 0
    try:
        for part in parts:
            if not body.done and part:
                used += body.feed(part, 0)
    except BadMessage:
        return "malformed"
    return bytes(capture.data), body.done, used
