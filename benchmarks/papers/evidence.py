"""`docs/evidence.md` and its plots, made from the results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.judging import (
    BEYOND,
    CLOSE,
    Judged,
    Measured,
    Outcome,
    Rows,
    bounds,
    judged,
    middle,
    rounds_of,
)
from benchmarks.papers.measuring import Row
from benchmarks.papers.panels import HERE, REASONS, Panel, panels
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
_WHY = """## Why claims do not hold

Each reason with what must come out if it is true, and what came out. Operations are counted where
that decides: of SIFT the entries that it counts, of the k-index the skips of the paper's algorithm,
of all others the clauses that they look at, unless it says otherwise.
"""
_COUNTED = (
    "paper", "panels", "reproduced", "not reproduced", "by chance alone",
    "claims that hold", "undecided", "do not hold", "of these explained",
)  # fmt: skip
_AT = {"every": "at the least favourable point", "any": "at the most favourable point"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A panel, the medians of what was measured of it, and what became of its claims."""

    panel: Panel
    rows: Rows | None
    claims: list[Judged]

    @property
    def word(self) -> str:
        if self.rows is None:
            return "not measured"
        return "not reproduced" if self.failed or self.undecided else "reproduced"

    @property
    def failed(self) -> list[Judged]:
        return self.which(Outcome.FAILS)

    @property
    def undecided(self) -> list[Judged]:
        return self.which(Outcome.CHANCE)

    @property
    def by_chance(self) -> bool:
        """Whether chance alone stands between the panel and its being reproduced."""
        return bool(self.undecided) and not self.failed

    def which(self, outcome: Outcome) -> list[Judged]:
        return [one for one in self.claims if one.outcome is outcome]

    @property
    def why(self) -> list[str]:
        """The reasons that claims which do not hold name."""
        return list(dict.fromkeys(name for one in self.failed for name in reasons_of(one.claim)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What there is to report: the papers' panels, and the reasons by their names."""

    verdicts: list[Verdict]
    reasons: dict[str, Verdict]

    @classmethod
    def of(cls, chosen: list[Panel], results: Results) -> Evidence:
        verdicts = [verdict_on(panel, results) for panel in chosen]
        reasons = panels((REASONS,))
        every = ((panel, rounds_of(panel, results)) for panel in (*chosen, *reasons))
        measured = {panel.name: (panel, rounds) for panel, rounds in every if rounds is not None}
        checked = [verdict_on(panel, results, measured) for panel in reasons]
        return cls(verdicts, {one.panel.figure: one for one in checked})

    def explained(self, verdict: Verdict, failed: Judged) -> bool:
        """Whether all checks of a reason for the claim came out as they must."""
        checks = [self.checks(verdict, name) for name in reasons_of(failed.claim)]
        return any(own and all(one.holds for one in own) for own in checks)

    def checks(self, verdict: Verdict, name: str) -> list[Judged]:
        """What a reason claims of the panel, or all that it claims."""
        panel, every = verdict.panel, self.reasons[name].claims
        return [one for one in every if _is_of(one.claim, panel)] or every


def _is_of(check: dict[str, Any], panel: Panel) -> bool:
    """Whether a check is about that panel and not about others."""
    if "for" not in check and "of" in check:
        return bool(check["of"] == panel.name)
    return panel.figure in check.get("for", (check.get("at"),))


def main() -> None:
    """Write the document anew, and say how many panels were reproduced."""
    results = Results("small")
    evidence = Evidence.of(panels(), results)
    for one in evidence.verdicts:
        if one.rows is not None:
            path = DOCUMENT.with_suffix("") / f"{one.panel.name}.svg"
            plot(one.panel, one.rows, _UNITS[one.panel.metric], path)
    old = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    kept = old[old.index(BY_HAND) :] if BY_HAND in old else f"{BY_HAND}\n"
    DOCUMENT.write_text(f"{document(evidence, results)}\n{kept}", encoding="utf-8")
    counts = Counter(one.word for one in evidence.verdicts)
    print(", ".join(f"{n} {word}" for word, n in counts.items()), "-", DOCUMENT)


def document(evidence: Evidence, results: Results) -> str:
    """All of it that is not kept by hand."""
    parts = [_head(results), _counts(evidence), _overview(evidence), _open(evidence)]
    for paper, title in _TITLES.items():
        own = [one for one in evidence.verdicts if one.panel.paper == paper]
        parts += [f"## {title}\n", *(_section(one, evidence) for one in own)]
    return "\n".join([*parts, _WHY, *(_reason(one, evidence) for one in evidence.reasons.values())])


def verdict_on(panel: Panel, results: Results, others: Measured | None = None) -> Verdict:
    rounds = rounds_of(panel, results)
    if rounds is None:
        return Verdict(panel, None, [])
    return Verdict(panel, middle(rounds), judged(panel, rounds, others))


def reasons_of(claim: dict[str, Any]) -> list[str]:
    """The names of the reasons that a claim gives for not holding."""
    return str(claim.get("why", "")).split()


def _head(results: Results) -> str:
    return f"""# Evidence

Every panel of the three papers' evaluations, measured with our implementations at a small scale:
a hundredth to a tenth of the papers' sizes, and one point of a million (`benchmarks/papers` has
them as data). Made by `./run bench evidence` from `benchmarks/results/papers-small.jsonl`, which
`./run bench papers` fills; figures that are not the papers' follow at the end.

{_machine(results)}

A panel is **reproduced** when all its claims hold: the same algorithm is ahead, the same curve
rises, falls or stays. Ratios are told beside the paper's, and may differ: sizes, machines and
implementations do. Each algorithm's answers were compared with those of `scan` before it was
timed. Times are CPU time of one thread, all events in one call. The curve `auto` is no paper's.

Every time was measured in several rounds, each drawn and built anew, the algorithms of a workload
by turns; in a round the least of several calls counts. Ratios and curves are the medians of the
rounds; the least and the largest ratio stand behind. A claim **holds** where all rounds are within
its bounds, and **does not hold** where all are outside. Where rounds do not agree, or one comes
within {CLOSE - 1:.0%} of a bound, it is **undecided**: another run may decide it otherwise. A panel
with such a claim is not called reproduced. Operations and bytes are the same in all rounds.

Where a claim does not hold, a [reason](#why-claims-do-not-hold) is named, and what must come out
if it is true was measured or counted in the same run: by other sizes, other parameters, or
operations instead of time. A reason one of whose checks came out otherwise is called refuted.
"""


def _machine(results: Results) -> str:
    """When, where and of what it was measured, in one paragraph."""
    rows = [row for rounds in results.rounds.values() for row in rounds.values()]
    took = sum(row["took_s"] for row in rows) / 60
    n_rounds = len({row.get("round", 0) for row in rows})
    made = (
        f"{len(results.rounds):,} measurements in {n_rounds} round{'s' * (n_rounds > 1)}, "
        f"{took:.0f} minutes of one core besides drawing"
    )
    if not results.sessions:
        return f"{made}."
    first, last = results.sessions[0], results.sessions[-1]
    commits = results.commits
    trees = f"commit {commits[0]}" if len(commits) == 1 else f"commits {', '.join(commits)}"
    days = dict.fromkeys(session["session"][:10] for session in (first, last))
    at_once = last.get("jobs", 1)
    return (
        f"**{'One tree' if len(commits) == 1 else 'Several trees'}**: {trees}, "
        f"{' to '.join(days)}, {last['processor']} with {last['cores']} cores, "
        f"{at_once} measuring at once{', each on its own core' if last.get('pinned') else ''} "
        f"(load before it began {first.get('load', 'not known')}), "
        f"Python {last['python']}, NumPy {last['numpy']}, Numba {last['numba']}: {made}."
    )


def _counts(evidence: Evidence) -> str:
    rows = [_row(_COUNTED), _row(["---"] * len(_COUNTED))]
    for paper, title in (*_TITLES.items(), ("", "all")):
        own = [one for one in evidence.verdicts if paper in ("", one.panel.paper)]
        words = Counter(one.word for one in own)
        n, good, bad = words.total(), words["reproduced"], words["not reproduced"]
        missing = f" ({n - good - bad} not measured)" if n - good - bad else ""
        found = Counter(claim.outcome for one in own for claim in one.claims)
        n_explained = sum(evidence.explained(one, claim) for one in own for claim in one.failed)
        told = [
            f"{n}{missing}", good, bad, sum(one.by_chance for one in own),
            f"{found[Outcome.HOLDS]} of {found.total()}", found[Outcome.CHANCE],
            found[Outcome.FAILS], n_explained,
        ]  # fmt: skip
        rows.append(_row([title, *map(str, told)]))
    return "\n".join(rows) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _overview(evidence: Evidence) -> str:
    rows = ["| figure | panel | claims that hold | verdict |", "| --- | --- | --- | --- |"]
    for one in evidence.verdicts:
        panel = one.panel
        held = f"{len(one.which(Outcome.HOLDS))} of {len(panel.claims)}"
        why = [*map(_link, one.why), *(["undecided"] if one.undecided else [])]
        why += ["no reason named"] if any(not reasons_of(bad.claim) for bad in one.failed) else []
        told = f": {', '.join(why)}" if why else ""
        rows.append(f"| {_named(panel)} | {panel.title} | {held} | {one.word}{told} |")
    return "\n".join(rows) + "\n"


def _open(evidence: Evidence) -> str:
    """What is not settled: claims that chance decides, and those that fail unexplained."""
    undecided = [(one, claim) for one in evidence.verdicts for claim in one.undecided]
    failed = [(one, claim) for one in evidence.verdicts for claim in one.failed]
    unexplained = [one for one in failed if not evidence.explained(*one)]
    by_chance = [_open_claim(one, claim, _bounds(claim)) for one, claim in undecided]
    without = [_open_claim(one, bad, _reasons(one, bad, evidence)) for one, bad in unexplained]
    lines = ["## What is not settled", ""]
    lines += _listed("Claims that chance decides", "must be", by_chance)
    lines += _listed("Claims that do not hold, and are not explained", "reasons", without)
    return "\n".join(lines)


def _listed(which: str, last: str, rows: list[str]) -> list[str]:
    if not rows:
        return [f"{which}: none.", ""]
    head = [f"{which}:", "", f"| figure | claim | ours | {last} |", "| --- | --- | --- | --- |"]
    return [*head, *rows, ""]


def _open_claim(verdict: Verdict, one: Judged, told: str) -> str:
    return f"| {_named(verdict.panel)} | {one.claim['text']} | {ours(one)} | {told} |"


def _reasons(verdict: Verdict, failed: Judged, evidence: Evidence) -> str:
    """The reasons that do not explain it, and how they fared."""
    found = [
        f"{_link(name)}: {_STANDINGS[_standing(evidence.checks(verdict, name))]}"
        for name in reasons_of(failed.claim)
    ]
    return ", ".join(found) or "no reason named"


def _bounds(one: Judged) -> str:
    least, most = bounds(one.claim)
    below, above = f"at least {figure(least)}" if least else "", f"at most {figure(most)}"
    return " and ".join(filter(None, (below, "" if math.isinf(most) else above)))


def _named(panel: Panel) -> str:
    return f"[{panel.paper} {panel.figure}](#{panel.name})"


def _link(name: str) -> str:
    return f"[{name}](#why-{name})"


def _section(verdict: Verdict, evidence: Evidence) -> str:
    panel, rows = verdict.panel, verdict.rows
    lines = [f'<a id="{panel.name}"></a>', f"### Figure {panel.figure}: {panel.title}", ""]
    if rows is None:
        return "\n".join([*lines, f"Verdict: **{verdict.word}**: the run is not complete.", ""])
    lines += [f"![{panel.title}](evidence/{panel.name}.svg)", ""]
    lines += ["| claim | the paper | ours | |", "| --- | --- | --- | --- |"]
    lines += [_claim(one) for one in verdict.claims]
    chance = ", nor refuted: chance decides" if verdict.by_chance else ""
    lines += ["", f"Verdict: **{verdict.word}**{chance}.", ""]
    lines += [line for name in verdict.why for line in (_because(verdict, name, evidence), "")]
    for one in verdict.failed:
        if not reasons_of(one.claim):
            lines += [f"No reason named: {one.claim['text']}.", ""]
    if verdict.failed or verdict.undecided:
        lines += [_measured(panel, rows, [*verdict.failed, *verdict.undecided]), ""]
    if panel.note:
        lines += [panel.note, ""]
    return "\n".join(lines)


def _because(verdict: Verdict, name: str, evidence: Evidence) -> str:
    """A reason in a paragraph, with what it says of the panel."""
    reason, checks = evidence.reasons[name], evidence.checks(verdict, name)
    told = "; ".join(f"{one.claim['text']}: {_outcome(one)}" for one in checks)
    said = _STANDINGS[_standing(checks)]
    head = "Reason" if said == "stands" else f"Reason, {said}"
    return f"{head}: [{reason.panel.title}](#why-{name}). Measured: {told}."


def _standing(checks: list[Judged]) -> Outcome:
    """What became of a reason: the worst of its checks."""
    found = {one.outcome for one in checks}
    return next((one for one in _WORST_FIRST if one in found), Outcome.UNKNOWN)


_WORST_FIRST = (Outcome.FAILS, Outcome.UNKNOWN, Outcome.CHANCE, Outcome.HOLDS)
_STANDINGS = {
    Outcome.HOLDS: "stands",
    Outcome.FAILS: "**refuted**",
    Outcome.CHANCE: "undecided",
    Outcome.UNKNOWN: "not measured yet",
}


def _outcome(one: Judged) -> str:
    otherwise = {Outcome.FAILS: ", which it is not", Outcome.CHANCE: ", which is undecided"}
    return f"{ours(one)} (must be {one.claim['expected']}{otherwise.get(one.outcome, '')})"


def _reason(reason: Verdict, evidence: Evidence) -> str:
    """A reason in full: what it is, and all its checks."""
    panel = reason.panel
    named = [one.panel for one in evidence.verdicts if panel.figure in one.why]
    links = ", ".join(map(_named, named))
    lines = [f'<a id="why-{panel.figure}"></a>', f"### {panel.title}", "", panel.note, ""]
    if reason.rows is None:
        return "\n".join([*lines, "Not measured yet.", ""])
    lines += ["| if it is so | it must be | it is | |", "| --- | --- | --- | --- |"]
    lines += [_check(one) for one in reason.claims]
    return "\n".join([*lines, "", f"Named by {links or 'no panel of this run'}.", ""])


def _check(one: Judged) -> str:
    mark = {Outcome.HOLDS: "as it must", Outcome.FAILS: "refuted"}.get(one.outcome, one.outcome)
    return f"| {one.claim['text']} | {one.claim['expected']} | {ours(one)} | {mark} |"


def _claim(one: Judged) -> str:
    where = _AT.get(one.claim.get("at", ""), "")
    text = f"{one.claim['text']}{f' ({where})' if where else ''}"
    return f"| {text} | {one.claim['paper']} | {ours(one)} | {one.outcome} |"


def ours(one: Judged) -> str:
    """The ratio, and what it was in the rounds where they differ."""
    low, high = map(figure, one.range)
    return figure(one.ratio) if low == high else f"{figure(one.ratio)} ({low} to {high})"


def _measured(panel: Panel, rows: Rows, failed: list[Judged]) -> str:
    """The figures of the curves that the claims are about."""
    labels = dict.fromkeys(label for one in failed for label in _labels(panel, one.claim))
    told = "; ".join(_ends(panel, label, rows[label]) for label in labels if label in rows)
    points = f"{panel.labels[0]} and {panel.labels[-1]}" if len(panel.points) > 1 else "one point"
    return f"Measured at {points}, {_UNITS[panel.metric]}: {told}."


def _labels(panel: Panel, claim: dict[str, str]) -> Iterator[str]:
    for key in ("fast", "slow", "grows", "beside", "spread", "best_of"):
        if claim.get(key) in ("rest", "worst"):
            yield from (line.label for line in panel.lines if line.algorithm not in BEYOND)
        elif key in claim:
            yield claim[key]


def _ends(panel: Panel, label: str, rows: list[Row]) -> str:
    ends = [rows[0], rows[-1]] if len(rows) > 1 else rows
    scale = _SCALES.get(panel.metric, 1.0)
    values = " → ".join(figure(row[panel.metric] * scale) for row in ends)
    if panel.metric != "match_us":
        return f"`{label}` {values}"
    candidates = " → ".join(figure(row["candidates"]) for row in ends)
    return f"`{label}` {values} with {candidates} candidates"


def figure(value: float) -> str:
    """A number as a reader wants it."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
