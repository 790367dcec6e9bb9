"""Observations: the forms in which agents see a page, and the extractors that read it from the browser.

``model`` is the agent's observation, ``extraction`` the interface of the two extractors: `exact` here, ``fast`` in
`fast`. `exact` reads Chromium's answers: `snapshot` the layout, `editors` what people see of editors and scrolling
areas, `axtree` the accessibility tree (`compat`: with the original harness's defects), `html` the markup by the rules
of `markup`; `remote_frames` finds iframes of other processes. `images` captures, `marking` and `drawing` make the set
of marks; `tokens` counts and `budget` cuts.
`pytest_webarena.browser.snapshotting` combines them.
"""

from __future__ import annotations

from pytest_webarena.browser.observation.model import Observation, ScrollPosition, TabInfo, tab_line

__all__ = ["Observation", "ScrollPosition", "TabInfo", "tab_line"]
