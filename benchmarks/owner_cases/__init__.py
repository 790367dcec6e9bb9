"""Cases of the benchmark of owners: `rules` says what must come out, and each other module runs one part of a run.

| module | runs |
|---|---|
| `comparing` | events in runs of two agents, whose rates, intervals and comparisons must not rise |
| `attempts` | controls and retries of single trials: their number, order and agents |
| `endpoints` | controls of a model and a judge, from the HTTP response on |
| `project` | pytest in a project of two agents, whose trials end in events: the runs of the modules below |
| `runs` | pytest with retries, reruns, ``--resume``, merges, dead workers, stops and gates |
| `figures` | each figure that is printed of a run |

`attempts`, `endpoints` and `runs` end with a table of their cases: the name, and a function that yields what is wrong.
``python benchmarks/owners.py --cases NAME`` runs one.
"""
