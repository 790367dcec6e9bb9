"""Runs of pytest inside tests leave the modules of this process as they were."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from _pytest import pytester as pytesters


class NeverEmpty(dict[str, ModuleType]):
    """Modules of a process whose other threads may import something at any time."""

    def clear(self) -> None:
        raise AssertionError("a thread would import built-in modules again")


def test_restoring_modules_removes_new_ones_without_emptying_sys_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, changed, other = ModuleType("kept"), ModuleType("changed"), ModuleType("changed")
    monkeypatch.setattr(sys, "modules", NeverEmpty(kept=kept, changed=changed))
    snapshot = pytesters.SysModulesSnapshot(preserve=lambda name: name.startswith("zope"))
    sys.modules.update(changed=other, new=ModuleType("new"), zope=ModuleType("zope"))
    del sys.modules["kept"]
    snapshot.restore()
    assert set(sys.modules) == {"kept", "changed", "zope"}
    assert sys.modules["changed"] is changed
