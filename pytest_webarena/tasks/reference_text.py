"""Text of the task format's reference that can't be derived from the declarations."""

from __future__ import annotations

__all__ = ["AFTER_CHECKS", "INTRODUCTION", "STEPS_INTRODUCTION"]

INTRODUCTION = """
# Task files

<!-- Made by `python -m pytest_webarena.tasks.reference`; edit the declarations in pytest_webarena/tasks instead. -->

A task file is YAML (or JSON, which is YAML too). It lists tasks: what an agent is asked to do, on which sites, and how
to tell whether it did.

```yaml
# yaml-language-server: $schema=tasks.schema.json
defaults: {sites: [shopping]}
tasks:
  - id: shopping-spend-on-books
    intent: How much did I spend on books in 2023?
    checks:
      - answer: {number: 84.97, tolerance: 0.01}
    solution:
      - goto: /accounts/orders/
      - stop: "84.97"

  - id: shopping-review
    intent: Leave a {{ stars }}-star review titled "{{ title }}" on {{ product }}
    each:
      coffee: {product: Coffee Grinder, stars: 4, title: Quiet enough}
      kettle: {product: Gooseneck Kettle, stars: 2, title: Drips}
    mutates: true
    checks:
      - page: {open: /reviews/, locate: css=.review-title, includes: "{{ title }}"}
      - state: {sql: "select stars from reviews where title = {{ title | sql }}", equals: "{{ stars }}"}

  - id: no-phone-number
    intent: What is the phone number of this shop?
    checks:
      - answer: {unachievable: the shop lists no phone number}
```

## Writing tasks

* **With an editor.** `webarena tasks schema --write tasks/tasks.schema.json` writes the JSON schema,
  with the checks of installed packages; without `--write` it is printed. The comment in the first line above makes
  editors that use the YAML language server complete keys, explain them and underline mistakes; the path is seen from
  the task file. In VS Code a setting does it for all files: `"yaml.schemas": {"tasks/tasks.schema.json":
  "tasks/**/*.yaml"}`.
* **`webarena tasks validate PATH…`** reads files, and the task files and catalogues that pytest would find in folders,
  without running anything and reports everything that is wrong with all of them, each mistake as `file:line:column:
  expected …, found …` with the closest known name. It exits with 1 when there is one. `--format` is `text` (default),
  `json` or `github` (annotations in pull requests); `--sites` names the catalogue whose sites are known (default:
  one that is named next to the tasks, the ini file's `webarena_sites`, one found in a folder, or `embedded`). pytest
  shows the same text when it collects a bad file.
* **`pytest FOLDER`** takes the YAML files with a top-level list `tasks` in which an entry has an `intent` or two other
  keys of a task, in whatever style they are written, those called `*.tasks.yaml`, and those that the ini globs
  `webarena_tasks` match (guides and rubrics in the same folders are left out). One slip of the keyboard in `tasks`
  or `intent` is reported as such, and so is a list of tasks without `tasks:` above it. Other YAML files with a list
  `tasks` are named in the summary as passed over; with `webarena_tasks` set, nothing in its folders is. JSON files have
  to be named on the command line, and are read as published suites are; tasks of this format written as JSON belong
  into a `.yaml` file.
* **`webarena tasks try FILE::ID`** leases the sites, opens the start pages and reads commands: actions in the agents'
  grammar, `s` for the next step of the solution, `a` for all of them, `o` to see what an agent sees, `p` for a
  screenshot, `r` for fresh sites. After each action the checks are judged, and changes are printed with the reasons;
  `c` prints all of them again; `w [42]` or `w SELECTOR` the selectors that find an element and no other. `--headed`
  opens a window instead, and speaks whenever a check changes while you use it. Commands may also be steps as solutions
  have them (`click: role=button[name="Save"]`). `--solution` replays the
  solution and exits with 1 when it does not pass; `--go-on` does the steps of it that work and reads commands at the
  page where it stops: do the failing step by hand, and `s` goes on with the next one. `--record FILE` writes all that
  was done, in whatever way, as a `solution` with selectors that last
  ([recording](recording.md#by-what-elements-are-found-again)), and tries that on fresh sites. `--sites` (default
  `embedded`),
  `--browser-executable` (default: as for pytest) and `--pictures DIR` (default `tryout`) are its other options.
* **`pytest --agent=oracle FILE`** runs the solutions; **`pytest --audit FILE`** also tries what must not pass.

## How values are read

What a value means is decided by the key it stands under, not by how YAML would guess.

* Where a key takes **text**, any bare value is text exactly as written: `exact: no` is the word, `exact: 1.10` keeps
  its zero, `id: 21` is "21". Only nothing at all, `~` and `null` need quotes to be text.
* **Comments** begin at ` #`, also in a text without quotes: `intent: Close "copy of #3"` would end at `copy of`.
  A comment behind a text that leaves a quote or bracket open is an error. Behind other text it is a warning, unless it
  follows a number, a name or a single word and has a space after its `#`. Put texts with ` #` in quotes.
* **Numbers** are exact decimals (`84.97`, `1e3`, `0x1F`), never infinite, and not in quotes (`"84.97"` is text).
* **Switches** are `true` or `false`, nothing else.
* Where a key takes **any value** (`equals`, `json`, `args`, fillings), the rules of YAML 1.2 apply: `true`, `false`,
  `null` and numbers are what they look like, all else is text: `no`, `on`, `12:30` and `2023-01-05` are.
* **Addresses** are `/path` (on the task's first site), `site:/path` (on another of its sites, also written
  `{site: /path}`) or full addresses. Base addresses come from the sites that the run uses.
* **Selectors** are Playwright's: `css=…` (or bare CSS), `role=button[name="Save"]`, `text=…`, `xpath=…`, joined by
  `>>`. The first match counts, except where a check looks at all of them.

Anchors, aliases and merges (`<<: *base`) work. Tags (`!!python/…`) don't. A file has at most <megabytes> MB, <values>
values once aliases and fillings are written out, and <depth> levels.

## Templates

`each` makes several instances of a task. In each of them `{{ name }}` stands for the filling's value, in every string
of the task, wherever it is.

* A string that is one variable and nothing else becomes that value itself: `equals: "{{ stars }}"` is a number when
  the filling gives one, `includes: "{{ titles }}"` may be a list. The quotes are needed: YAML takes a
  bare `{` for a mapping.
* Inside a longer text a value reads as the filling wrote it: `4.50` stays `4.50`.
* Jinja2 expressions and `{% if %}` work, with the filters <filters>. `sql` makes a quoted SQL literal. There are no
  loops and no calls, numbers in products and powers are below 1,000,000,000, exponents at most 64. A power of a
  power (`9**9**9`) or of a signed number (`-9**2`) is an error, for Jinja2 reads them otherwise than arithmetic does.
* A name without a value is an error, also in tasks without `each`. For literal braces write `{{ "{{" }}`.
* Instances are called `<id>.<name>`; for pytest and reports they stand in the line of their filling.
* `each: products.csv` takes them from a file next to the task file (UTF-8, commas). Its first line names the variables,
  each further line is an instance, called after its column `name` if there is one. Plain numbers (`24.50`) are numbers,
  everything else is text, `no` and `007` too. `webarena sites query shopping "select …" -o products.csv` writes such
  a table from a fresh site's database.
"""

STEPS_INTRODUCTION = """
A `solution` is a list of steps; `setup` can have the same ones in `browser`. A step is a word or has one key.
`fill`, `type` and `select` take mappings, and do several things in order when they have several keys.
A selector with brackets and quotes needs a block mapping or quotes:

```yaml
- fill:
    role=textbox[name="Title"]: Quiet enough
    role=textbox[name="Review"]: Grinds well.
```

A step of a solution may list other selectors of its element ([below](#with-a-step)).
"""

AFTER_CHECKS = """
## How texts are compared

Before comparing, both texts are brought to one form:

1. invisible characters (zero-width ones, soft hyphens, direction marks) are dropped;
2. typographic quotes become straight ones, all dashes become `-`, and Unicode's compatibility form (NFKC) is taken, so
   that full-width letters, ligatures and non-breaking spaces are their plain selves;
3. runs of white space become one space, and none is left at the ends;
4. case is folded, unless `case: true`.

`exact` and `one_of` then also ignore one pair of quotes around a text and a full stop after it. `includes` and
`excludes` look for whole words and numbers: a match must not continue a word or a number on either side. `10` is in
`10 km`, `10th` and `$10`, and not in `100`, `10.5`, `3.10` or `-10`. In scripts that don't put spaces between words
a match may stand anywhere. `whole_words: false` looks for any run of characters.

`number` wants a text that states one number. Signs, currency signs and codes, separators for thousands (`1,234.5`,
`1.234,5`, `1'234.5`, `12,34,567`), a comma as decimal sign (`84,97`), fractions (`3/4`, `2 1/2`, `½`), powers
(`1.2e-3`, `1.2×10^-3`), `k`, `M`, `thousand`, `million`, `billion`, `trillion`, per cent (45 % is 45 or 0.45) and, in
texts without digits, words up to thousands (`two hundred and six`) are understood. Digits in names (`SKU-123`), dates,
times and versions are no numbers. If the text states several different numbers it fails, with two exceptions: numbers
that the intent mentions don't count if there are others ("84.97 in 2023" answers "How much did I spend in 2023?"),
and when a line says `Answer: …` only the last such line counts (or the last `\\boxed{…}`).
Comparison is exact: `84.970` equals `84.97`, and a difference equal to the tolerance is still within it.

## Scores and verdicts

Every check has a score from 0 to 1. A check without parts has 0 or 1 (`python` may say something between); `all` has
the product of its parts' scores, `any` the best of them, `not` what is missing from 1. The task's score is the product
of its checks' scores or, with `score: mean`, their weighted mean. A task whose score reaches `threshold` has passed.

Checks are judged from what was recorded, so a stored run can be judged again, without browser or sites. What was not
recorded or could not be read (a selector that the browser refuses, a query that fails) makes a check *inconclusive*,
and with it the verdict, unless the rest decides it anyway: a product with a 0 is 0. An inconclusive verdict is
neither a pass nor a fail, but an error of the task.

Judging happens in a process of its own. A check that takes longer than `--check-timeout` (60 seconds, all states of
the trial together; models that are asked are not counted) is ended there and inconclusive, whatever keeps it: a
pattern that backtracks for ever, a `python` function that never returns or ends its process. The same holds for
`--rescore`. What a `python` function keeps in memory is gone with the trial's process; what its module loads when it
is imported is loaded once. `--check-timeout=0` judges in pytest's own process without a limit, for debuggers.

## Kinds of your own

A package can add kinds of check; see `pytest_webarena.checks.Kind`, and name yours in its `pyproject.toml`:

```toml
[project.entry-points."webarena.checks"]
rubric = "my_package.rubric:RUBRIC"
```

[Adding to it from a package](registries.md) shows a whole one, and what else packages can add.
"""
