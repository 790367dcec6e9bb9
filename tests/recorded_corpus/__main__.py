"""Print what today's checks change in the corpus, accept it, or pack runs as a new corpus.

python -m tests.recorded_corpus             print each trial whose verdict differs
python -m tests.recorded_corpus accept      the same, and store the verdicts of today
python -m tests.recorded_corpus pack RUN…   replace the corpus by the finished trials of these run folders
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.recorded_corpus import VERDICTS, differences, judged, pack, stored_verdicts, unpack


def main() -> int:
    """Exit code 1 where a verdict differs and was not accepted."""
    command, *runs = sys.argv[1:] or ["compare"]
    if command not in ("compare", "accept", "pack") or bool(runs) != (command == "pack"):
        print(__doc__)
        return 2
    if command == "pack":
        pack([Path(run) for run in runs])
    with tempfile.TemporaryDirectory() as folder:
        now = judged(unpack(Path(folder)))
    changed = differences(stored_verdicts() if VERDICTS.exists() else {}, now)
    print(*changed, f"{len(changed)} of {len(now)} trials differ", sep="\n")
    if command == "compare":
        return bool(changed)
    VERDICTS.write_text(json.dumps(now, indent=0, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


sys.exit(main())
