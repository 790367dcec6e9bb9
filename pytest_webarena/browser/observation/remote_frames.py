"""Protocol sessions for iframes in processes of their own. They are opened once and reused."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame

from pytest_webarena.browser.observation.extraction import RemoteFrame
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["remote_frames"]


class _Known:
    """Known iframes of one tab."""

    def __init__(self) -> None:
        self.frames: dict[Frame, tuple[str, RemoteFrame | None]] = {}
        """Address and process of each frame; None for one in the process of its parent document."""
        self.numbers = 0

    def process_of(self, frame: Frame | None) -> RemoteFrame | None:
        """Return the process that renders ``frame``; None for the page's own."""
        while frame is not None:
            _, remote = self.frames.get(frame, ("", None))
            if remote is not None:
                return remote
            frame = frame.parent_frame
        return None

    def has(self, frame: Frame) -> bool:
        """Return whether its address and the processes around it are unchanged."""
        url, remote = self.frames.get(frame, (None, None))
        return url == frame.url and (remote is None or remote.parent is self.process_of(frame.parent_frame))


async def remote_frames(tab: Tab, parent: RemoteFrame | None, *, seconds: float) -> Sequence[RemoteFrame]:
    """Return iframes of other processes that are directly in documents of ``parent``. Only new ones cost calls."""
    known: _Known = tab.extras.setdefault(_Known, _Known())
    frames = tab.page.frames[1:]
    for removed in set(known.frames) - set(frames):
        del known.frames[removed]
    for frame in frames:  # outer frames come before inner ones
        if not known.has(frame):
            known.frames[frame] = (frame.url, await _reach(tab, frame, known, seconds))
    return [remote for _, remote in known.frames.values() if remote is not None and remote.parent is parent]


async def _reach(tab: Tab, frame: Frame, known: _Known, seconds: float) -> RemoteFrame | None:
    what = "reaching a frame of another site"
    parent = known.process_of(frame.parent_frame)
    try:
        session = await tab.run(tab.page.context.new_cdp_session(frame), seconds, what)
        tree = await tab.run(session.send("Page.getFrameTree"), seconds, what)
        where = {"frameId": tree["frameTree"]["frame"]["id"]}
        if parent is None:
            owner = await tab.send("DOM.getFrameOwner", where, seconds=seconds)
        else:
            owner = await tab.run(parent.session.send("DOM.getFrameOwner", where), seconds, what)
    except PlaywrightError:
        return None  # it shares its parent's process, or was removed
    known.numbers += 1
    return RemoteFrame(
        session=session,
        frame_id=where["frameId"],
        owner=owner["backendNodeId"],
        parent=parent,
        number=known.numbers,
    )
