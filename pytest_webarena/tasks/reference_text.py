"""Text of the task format's reference that can't be derived from the declarations."""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

__all__ = [
    "AFTER_CHECKS",
    "CHECKS_INTRODUCTION",
    "INTRODUCTION",
    "KEYS_NOTE",
    "RESEARCH_INTRODUCTION",
    "STEPS_INTRODUCTION",
    "TEXT_CONDITIONS",
    "VALUES_AND_TEMPLATES",
]

INTRODUCTION = """
# Task files

<!-- Made by `python -m pytest_webarena.tasks.reference`; edit the declarations in pytest_webarena/tasks instead. -->

The list `tasks` of a YAML file names tasks: what the agent must do, on which sites, and how to check the result.

```yaml
# yaml-language-server: $schema=tasks.schema.json
defaults: {sites: [shopping]}
tasks:
  - id: shopping-spend-on-books
    intent: How much did I spend on books in 2023?
    checks:
      - answer: {number: 84.97, unit: USD}
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
```

Six checks cover most tasks:

| check | it proves that | example |
|---|---|---|
| [`answer`](#answer) | the agent gave the right answer | `answer: {number: 84.97, unit: USD}` |
| [`page`](#page) | a page shows the result | `page: {open: /basket/, includes: Coffee Grinder}` |
| [`url`](#url) | the browser is at an address | `url: /accounts/orders/` |
| [`state`](#state) | the database or API holds the result | `state: {sql: select count(*) from notes, equals: 1}` |
| [`changes`](#changes) | only the listed data changed | `changes: {notes: {added: 1}}` |
| [`network`](#network) | the browser sent a request, or did not | `network: {method: POST, url: /basket/add/*}` |
"""

KEYS_NOTE = "A key that is not *required* may be left out. The default is none where no other is given."

CHECKS_INTRODUCTION = """
Each item of `checks` has one key, the kind of check, or it [combines checks](#combining-checks). It may also have
`when` and `weight`. [Scores and verdicts](#scores-and-verdicts) explains *undecided*.
"""

TEXT_CONDITIONS = """
These keys mean the same wherever a text is judged: a page, data, a request's body. In an `answer`, `exact`, `one_of`
and `excludes` do, too; its other keys are [types](#how-answers-are-read).
"""

RESEARCH_INTRODUCTION = """
Tasks of your own rarely need these. Imported benchmarks use the kinds of their [grading](grading.md).
"""

VALUES_AND_TEMPLATES = """
## How values are read

How a value is read depends on its key, not on YAML's guess.

* **Text**: a bare value is the text as written. `exact: no` is the word, `exact: 1.10` keeps its zero, `id: 21` is
  "21". Only an empty value, `~` and `null` need quotes.
* **Comments** begin at ` #`, also in text without quotes. `intent: Close "copy of #3"` would end at `copy of`, so put
  such text in quotes. A comment that leaves a quote or bracket open is an error. After other text it is a warning,
  unless it follows a number, a name or a single word and has a space after its `#`.
* **Numbers** are exact, finite decimals without quotes: `84.97`, `1e3`, `0x1F`.
* **Switches** are `true` or `false`.
* **Any value** (`equals`, `json`, `args`, fillings) follows YAML 1.2: `true`, `false`, `null` and numbers are what they
  look like. All else is text, also `no`, `on`, `12:30` and `2023-01-05`.
* **Addresses** are `/path` (on the task's first site), `site:/path` or `{site: /path}` (on another of its sites), or
  full addresses. The run's sites give the base addresses.
* **Selectors** are Playwright's: `css=…` (or bare CSS), `role=button[name="Save"]`, `text=…`, `xpath=…`, joined by
  `>>`. The first match counts, except in checks that look at all matches.

Anchors, aliases and merges (`<<: *base`) work; tags (`!!python/…`) don't. A file has at most <megabytes> MB, <values>
values (with aliases and fillings expanded) and <depth> levels.

## Templates

`each` makes several instances of a task. `{{ name }}` in any string of the task is replaced by the filling's value.

* A string that is one variable becomes its value: `equals: "{{ stars }}"` is a number if the filling is one, and
  `includes: "{{ titles }}"` may be a list. The quotes are needed, because YAML reads a bare `{` as a mapping.
* Inside a longer text, a value appears as written: `4.50` stays `4.50`.
* Jinja2 expressions and `{% if %}` work, with the filters <filters>. `sql` makes a quoted SQL literal. Loops and calls
  don't work. Numbers in products and powers must be below 1,000,000,000, exponents at most 64. A power of a power
  (`9**9**9`) or of a signed number (`-9**2`) is an error.
* A name without a value is an error, also without `each`. For literal braces write `{{ "{{" }}`.
* Instances are called `<id>.<name>`. Pytest and reports locate them at the line of their filling.
* `each: products.csv` reads a file next to the task file (UTF-8, commas). Its first line names the variables; each
  further line is an instance, named by its column `name` if there is one. Plain numbers (`24.50`) are numbers, all else
  is text, also `no` and `007`. `webarena sites query shopping "select …" -o products.csv` writes such a file from
  a fresh site's database.

## Writing tasks

* **Editor:** `webarena tasks schema --write tasks/tasks.schema.json` writes the JSON schema, with the checks of
  installed packages. With the YAML language server, editors complete, explain and check keys in files that begin with
  the example's comment. Its path is relative to the task file. VS Code can do so for all files:
  `"yaml.schemas": {"tasks/tasks.schema.json": "tasks/**/*.yaml"}`.
* **`webarena tasks validate PATH…`** reports all mistakes in task files and catalogues, as `file:line:column:
  expected …, found …`, and exits with 1 if there are any. `--format` is `text` (default), `json` or `github`
  (annotations). `--sites` names the catalogue (default: one named next to the tasks, the ini option `webarena_sites`,
  one found in a folder, or `embedded`). Pytest reports the same mistakes.
* **`pytest FOLDER`** collects `*.tasks.yaml`, files that match the ini option `webarena_tasks`, and YAML files with
  a list `tasks` in which an entry has an `intent` or two other keys of a task. A single typing error in `tasks` or
  `intent`, and a list of tasks without `tasks:`, are reported. The summary names skipped files with a list `tasks`,
  except in folders of `webarena_tasks`. JSON files must be named and are read as published suites; write tasks in JSON
  as `.yaml`.
* **`webarena tasks try FILE::ID`** opens a task on fresh sites and reads commands. After each one it judges the checks
  and prints changes with their reasons.

  | command or option | effect |
  |---|---|
  | an agent's action, or a step such as `click: role=button[name="Save"]` | do it |
  | `s`, `a` | do the solution's next step, or all steps |
  | `o`, `p` | print the agent's observation; take a screenshot |
  | `c` | print all checks |
  | `w [42]`, `w SELECTOR` | print selectors that find only this element |
  | `r` | restart on fresh sites |
  | `--headed` | use a window instead of commands; changed checks are printed |
  | `--solution` | replay the solution; exit with 1 if it fails |
  | `--go-on` | replay until a step fails; do that step yourself, then `s` continues |
  | `--record FILE` | write the actions as a `solution` with lasting selectors ([recording](<recording>)) and test it |
  | `--sites`, `--browser-executable`, `--pictures DIR` | defaults: `embedded`, as for pytest, `tryout` |

* **`pytest --agent=oracle FILE`** runs the solutions. **`pytest --audit FILE`** also tests that wrong solutions fail.

## Kinds of your own

A package can add kinds of check (`pytest_webarena.checks.Kind`). Name yours in its `pyproject.toml`:

```toml
[project.entry-points."webarena.checks"]
rubric = "my_package.rubric:RUBRIC"
```

[Adding to it from a package](registries.md) shows a complete example.
"""

STEPS_INTRODUCTION = """
A `solution` is a list of steps, as is `browser` in `setup`. A step has one key, or is a bare word (those without an
example: `- back`). Mappings under `fill`, `type` and `select` act on several elements in order. Put selectors with
brackets and quotes in quotes or in a block mapping:

```yaml
- fill:
    role=textbox[name="Title"]: Quiet enough
    role=textbox[name="Review"]: Grinds well.
```
"""

AFTER_CHECKS = """
## How texts are compared

Both texts are normalised first:

1. Invisible characters (zero-width, soft hyphens, direction marks) are removed.
2. Typographic quotes become straight ones and dashes become `-`. Unicode NFKC replaces full-width letters, ligatures
   and non-breaking spaces.
3. White space becomes single spaces, with none at the ends.
4. Case is folded, unless `case: true`.

`exact` and `one_of` also ignore one pair of quotes around a text and a full stop after it. `includes` and `excludes`
match whole words and numbers: `10` is in `10 km`, `10th` and `$10`, but not in `100`, `10.5`, `3.10` or `-10`. Scripts
without spaces between words match anywhere, as does `whole_words: false`.

`number` understands:

* signs, currency signs and codes, `k`, `M`, `thousand`, `million`, `billion`, `trillion`;
* separators for thousands (`1,234.5`, `1.234,5`, `1'234.5`, `12,34,567`) and a decimal comma (`84,97`);
* fractions (`3/4`, `2 1/2`, `½`), powers (`1.2e-3`, `1.2×10^-3`) and per cent;
* in texts without digits, words up to thousands (`two hundred and six`).

Digits in names (`SKU-123`), dates, times and versions are not numbers. Comparison is exact: `84.970` equals `84.97`,
and a difference equal to the tolerance passes.

## How answers are read

An `answer` has a type, and one principle decides whatever the type:

| the answer | outcome |
|---|---|
| does not state the value | not met |
| states it, and nothing else that the intent does not account for | met |
| anything else | [undecided](#scores-and-verdicts): only a person or a judge model can tell |

`answer: {number: 36}` for "How many lamps are there?":

| answer | outcome | reason |
|---|---|---|
| `36`, `**36**`, `thirty-six`, `{"count": 36}`, "There are 36 lamps." | met | every word is the value's, the intent's, or claims nothing |
| `37`, "I can't find any." | not met | the value is not in it |
| "36 desks", "not 36", "about 36", "36 lamps, 4 of them broken" | undecided | `desks`, `not`, `about`, `4 … broken` |
| "72/2", "3 dozen", `36,000` for 36 | undecided | forms that are not read, and may mean it |

| type | states the value | does not |
|---|---|---|
| `number` | `1,234.50`, `1.234,50`, words; with `unit`: none, this one, or another one for the same quantity | a part of a code, date, range or sum; another unit |
| `name`, `names` | the name or an alias as whole words; codes such as `B42a` in their case | `main-old` for `main`; a name that is missing |
| `text` | the text, quoted | a paraphrase |
| `date`, `time`, `duration` | `14 March 2026`, `2:30 pm`, `85 min` | another day; `3/4/2026` is undecided |
| `yes_no` | `yes`, `no`, `true`, `false` as a reply of its own | the other one |
| `url` | the full address | another path, query or fragment |
| `unachievable` | `N/A` and the like, alone or with the reason | a value |

Agents get the sentence that asks for the type, e.g. "Answer with the number alone, in digits. If the task can't be
done, answer N/A and why." It is the same for all tasks of a type. If a question asks for a type, a task like it that
can't be done has the same `type`. Tool-calling agents also get a JSON schema of the answer.

A check has one type, and only the keys that qualify it. Its reference, given as the answer, must be met: a file with
`{name: Acme, excludes: acme}` is refused. So is a check that accepts an empty answer, made-up words or, in a task that can
be done, `N/A`; and checks of which no answer meets all.

## Scores and verdicts

Every check has a score from 0 to 1. A single check scores 0 or 1; `python`, `rubric`, `key_nodes` and `symbolic` may
score between. The task's score is the product of its checks' scores or, with `score: mean`, their weighted mean. The
task passes if its score reaches `threshold`.

A check is met, not met, or *undecided*: it may then have any score from 0 to 1. A combination is undecided unless all
these scores give the same result:

| check | `not` |
|---|---|
| met | not met |
| not met | met |
| undecided | undecided |

| first check | second check | `all`, `score: product` | `any` | `score: mean`, `weight: 3` for the second |
|---|---|---|---|---|
| met | met | met | met | 1 |
| met | not met | not met | met | 0.25 |
| not met | met | not met | met | 0.75 |
| not met | not met | not met | not met | 0 |
| met | undecided | undecided | met | undecided, 0.25 to 1 |
| not met | undecided | not met | undecided | undecided, 0 to 0.75 |
| undecided | undecided | undecided | undecided | undecided, 0 to 1 |

The task passes if the lower bound reaches `threshold`, and fails if the upper bound does not. Otherwise its verdict is
undecided, for one of two reasons:

| reason | outcome of the trial | success rate |
|---|---|---|
| evidence is missing, such as a page that can't be read or a query that fails | error, with a cause | excluded |
| the rules can't decide, a person or [judge](judge.md) could | failed, *undecided*; score: lower bound | both bounds |

If both apply, the trial is an error. Stored runs can be judged again, without browser or sites.

Checks are judged in a separate process. A check that exceeds `--check-timeout` (60 seconds for all states of the
trial, without judge models) is stopped and undecided, also with `--rescore`. It is not met if the answer is the cause:
the check exceeds it again, but not with the solution's answer or one that it must accept. `--check-timeout=0` judges in
pytest's process without a limit, for debuggers. Data that a `python` function keeps in memory end with the trial's
process; what its module loads on import is loaded once.
"""
