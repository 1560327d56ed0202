"""`docs/evidence.md` and its plots, made from the results."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator

from benchmarks.papers.judging import BEYOND, Judged, Rows, judged, rows_of
from benchmarks.papers.panels import HERE, Panel, panels
from benchmarks.papers.plots import plot
from benchmarks.papers.results import Results

DOCUMENT = HERE.parents[1] / "docs" / "evidence.md"
BY_HAND = "<!-- what follows is kept by hand -->"

_TITLES = {
    "vldb": "Indexing Boolean Expressions (VLDB 2009)",
    "betree": "BE-Tree (SIGMOD 2011)",
    "pstree": "PS-Tree",
}
_UNITS = {"match_us": "µs an event", "build_s": "seconds to build", "nbytes": "MB"}
_SCALES = {"nbytes": 1e-6}
_AT = {"every": "at the least favourable point", "any": "at the most favourable point"}

Verdict = tuple[Panel, Rows | None, list[Judged]]


def main() -> None:
    """Write the document anew, and say how many panels were reproduced."""
    results = Results("small")
    verdicts = [verdict_on(panel, results) for panel in panels()]
    for panel, rows, _ in verdicts:
        if rows is not None:
            plot(panel, rows, _UNITS[panel.metric], DOCUMENT.with_suffix("") / f"{panel.name}.svg")
    old = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    kept = old[old.index(BY_HAND) :] if BY_HAND in old else f"{BY_HAND}\n"
    DOCUMENT.write_text(f"{document(verdicts, results)}\n{kept}", encoding="utf-8")
    counts = Counter(word(verdict) for verdict in verdicts)
    print(", ".join(f"{n} {word}" for word, n in counts.items()), "-", DOCUMENT)


def document(verdicts: list[Verdict], results: Results) -> str:
    """All of it that is not kept by hand."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    parts = [_head(results), _counts(verdicts), _overview(verdicts)]
    for paper, title in _TITLES.items():
        own = [verdict for verdict in verdicts if verdict[0].paper == paper]
        parts += [f"## {title}\n", *(_section(verdict, reasons) for verdict in own)]
    return "\n".join(parts)


def verdict_on(panel: Panel, results: Results) -> Verdict:
    rows = rows_of(panel, results)
    return panel, rows, [] if rows is None else judged(panel, rows)


def word(verdict: Verdict) -> str:
    _, rows, claims = verdict
    if rows is None:
        return "not measured"
    return "reproduced" if all(one.holds for one in claims) else "not reproduced"


def _head(results: Results) -> str:
    return f"""# Evidence

Every panel of the three papers' evaluations, measured with our implementations at a small scale:
a hundredth to a tenth of the papers' sizes, and one point of a million (`benchmarks/papers` has
them as data). Made by `./run bench evidence` from `benchmarks/results/papers-small.jsonl`, which
`./run bench papers` fills; figures that are not the papers' follow at the end.

A panel is **reproduced** when all its claims hold: the same algorithm is ahead, the same curve
rises, falls or stays. Ratios are told beside the paper's, and may differ: sizes, machines and
implementations do. Each algorithm's answers were compared with those of `scan` before it was
timed. Times are CPU time of one thread, all events in one call. The curve `auto` is no paper's.

{_machine(results)}
"""


def _machine(results: Results) -> str:
    """When and where it was measured, in one line."""
    took = sum(row["took_s"] for row in results.rows.values()) / 60
    made = f"{len(results.rows):,} measurements, {took:.0f} minutes of one core besides drawing"
    if not results.sessions:
        return f"{made}."
    last = results.sessions[-1]
    return (
        f"Measured until {last['session'][:10]} on {last['processor']} with {last['cores']} cores "
        f"that others used too, Python {last['python']}, Numba {last['numba']}: {made}."
    )


def _counts(verdicts: list[Verdict]) -> str:
    head = "| paper | panels | reproduced | not reproduced | claims that hold |"
    rows = [head, "| --- | --- | --- | --- | --- |"]
    for paper, title in (*_TITLES.items(), ("", "all")):
        own = [one for one in verdicts if paper in ("", one[0].paper)]
        words = Counter(map(word, own))
        n, good, bad = words.total(), words["reproduced"], words["not reproduced"]
        missing = f" ({n - good - bad} not measured)" if n - good - bad else ""
        claims = [claim for _, _, judgements in own for claim in judgements]
        held = f"{sum(one.holds for one in claims)} of {len(claims)}"
        rows.append(f"| {title} | {n}{missing} | {good} | {bad} | {held} |")
    return "\n".join(rows) + "\n"


def _overview(verdicts: list[Verdict]) -> str:
    rows = ["| figure | panel | claims that hold | verdict |", "| --- | --- | --- | --- |"]
    for verdict in verdicts:
        panel, _, claims = verdict
        held = f"{sum(one.holds for one in claims)} of {len(panel.claims)}"
        name = f"[{panel.paper} {panel.figure}](#{panel.name})"
        rows.append(f"| {name} | {panel.title} | {held} | {word(verdict)} |")
    return "\n".join(rows) + "\n"


def _section(verdict: Verdict, reasons: dict[str, str]) -> str:
    panel, rows, claims = verdict
    lines = [f'<a id="{panel.name}"></a>', f"### Figure {panel.figure}: {panel.title}", ""]
    if rows is None:
        return "\n".join([*lines, f"Verdict: **{word(verdict)}**: the run is not complete.", ""])
    lines += [f"![{panel.title}](evidence/{panel.name}.svg)", ""]
    lines += ["| claim | the paper | ours | |", "| --- | --- | --- | --- |"]
    lines += [_claim(one) for one in claims]
    lines += ["", f"Verdict: **{word(verdict)}**.{_because(panel, rows, claims, reasons)}"]
    if panel.note:
        lines += ["", panel.note]
    return "\n".join([*lines, ""])


def _claim(one: Judged) -> str:
    where = _AT.get(one.claim.get("at", ""), "")
    text = f"{one.claim['text']}{f' ({where})' if where else ''}"
    return f"| {text} | {one.claim['paper']} | {figure(one.ratio)} | {_mark(one)} |"


def _mark(one: Judged) -> str:
    return "holds" if one.holds else "does not hold"


def _because(panel: Panel, rows: Rows, claims: list[Judged], reasons: dict[str, str]) -> str:
    """What was measured where a claim does not hold, and why, as far as it is known."""
    if all(one.holds for one in claims):
        return ""
    failed = [one.claim for one in claims if not one.holds]
    labels = dict.fromkeys(label for claim in failed for label in _labels(panel, claim))
    measured = "; ".join(_measured(panel, label, rows[label]) for label in labels if label in rows)
    points = f"{panel.labels[0]} and {panel.labels[-1]}" if len(panel.points) > 1 else "one point"
    reason = reasons.get(panel.name, "")
    return f" {reason}\n\nMeasured at {points}, {_UNITS[panel.metric]}: {measured}."


def _labels(panel: Panel, claim: dict[str, str]) -> Iterator[str]:
    for key in ("fast", "slow", "grows", "beside", "spread", "best_of"):
        if claim.get(key) in ("rest", "worst"):
            yield from (line.label for line in panel.lines if line.algorithm not in BEYOND)
        elif key in claim:
            yield claim[key]


def _measured(panel: Panel, label: str, rows: list[dict[str, float]]) -> str:
    ends = [rows[0], rows[-1]] if len(rows) > 1 else rows
    scale = _SCALES.get(panel.metric, 1.0)
    values = " → ".join(figure(row[panel.metric] * scale) for row in ends)
    if panel.metric != "match_us":
        return f"`{label}` {values}"
    candidates = " → ".join(figure(row["candidates"]) for row in ends)
    return f"`{label}` {values} with {candidates} candidates"


def figure(value: float) -> str:
    """A number as a reader wants it."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
