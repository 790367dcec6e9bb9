"""What an agent sees of a page: the settings' forms of it, and how they are read from the browser.

``model`` is what an agent gets; ``extraction`` is the interface of the two extractors (`exact` here, ``fast`` in
`pytest_webarena.browser.fast`); `axtree` and `snapshot` read what Chromium answers; `budget` cuts.
"""

from __future__ import annotations

from pytest_webarena.browser.observation.extraction import ElementInfo, Extraction, Extractor
from pytest_webarena.browser.observation.model import Observation, Scroll, TabInfo, tab_line

__all__ = ["ElementInfo", "Extraction", "Extractor", "Observation", "Scroll", "TabInfo", "tab_line"]
