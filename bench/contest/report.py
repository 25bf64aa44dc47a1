"""Tables in Markdown and the figure of curves."""

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle
from pathlib import Path

import numpy as np

from contest import measures as m
from contest.beside import at_their_best, each_problem_table, peer_table, share_table
from contest.measures import CARELESS, OURS, PAPER, Contest
from contest.methods import title
from contest.problems import TASKS, landmarks, risk_of
from contest.runs import Record
from contest.text import plus_minus, signed, table, verdict

LIBRARIES = (
    "numpy", "scipy", "torch", "botorch", "gpytorch", "optuna", "smac", "hetgpy", "simoptlib",
)  # fmt: skip
# Kinds of problems that one table is about: SimOpt's never count together with others.
TARGET_KINDS = (("uneven",), ("simopt",))
COVERAGE_KINDS = (("uneven", "even"), ("simopt",))
# Okabe and Ito's palette; what comes round again is told apart by its dashes.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
DASHES = ("-", "--", "-.", ":")


def full_report(contest: Contest, notes: Sequence[str]) -> str:
    """Everything that the records tell."""
    records = [record for runs in contest.runs.values() for record in runs.values()]
    parts = [provenance(records), *notes, problems_table(contest)]
    for mark in contest.main_marks():
        parts += [
            f"### Mean normalised regret after {mark} single evaluations",
            *(regret_table(contest, mark, kinds) for kinds in m.GROUPS.values()),
        ]
    parts += ["### Single evaluations to the paper preset's last regret",
              *_any(target_table(contest, kinds) for kinds in TARGET_KINDS)]  # fmt: skip
    parts += ["### Beside the best peer",
              *_any(peer_table(contest, *needed) for needed in m.NEED_REGRET.items())]  # fmt: skip
    parts += ["### Beside the best peer of each problem", each_problem_table(contest)]
    for mark in contest.main_marks():
        parts += [f"### Regret of the best point tried + of the report, after {mark}",
                  share_table(contest, mark)]  # fmt: skip
    parts += ["### Where there is no risk", careful_table(contest)]
    parts += ["### Intervals at the last reported point",
              *_any(coverage_table(contest, kinds) for kinds in COVERAGE_KINDS)]  # fmt: skip
    parts += ["### What a run costs", cost_table(contest)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _any(tables: Iterable[str]) -> list[str]:
    """Those that are not empty, or a word that there are none."""
    return [told for told in tables if told] or ["No runs."]


def provenance(records: Sequence[Record]) -> str:
    versions = ", ".join(f"{name} {v}" for name in LIBRARIES if (v := _version(name)))
    return (
        f"{len(records)} runs of {records[0].job.budget} single evaluations; commit "
        f"{commits(records)}; Python {platform.python_version()}, {versions}; one thread a run."
    )


def commits(records: Sequence[Record]) -> str:
    return ", ".join(sorted({record.commit for record in records}))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def problems_table(contest: Contest) -> str:
    rows = [
        [p, TASKS[p].kind, f"{risk_of(p).alpha:g}", *(f"{v:.4g}" for v in landmarks(p))]
        for p in contest.problems
    ]
    return table(["problem", "noise", "alpha", "largest MV", "median MV"], rows)


def regret_table(contest: Contest, mark: int, kinds: Sequence[str]) -> str:
    """Methods by problems of these kinds; means are over those that all of them have played."""
    problems = contest.of_kind(*kinds)
    methods = contest.players(problems)
    if not methods:
        return ""
    played = [p for p in problems if all((p, method) in contest.runs for method in methods)]
    head = ["method", *problems, "mean", "geometric mean", f"beyond {OURS}"]
    rows = []
    for method in methods:
        cells = [_regret(contest, problem, method, mark) for problem in problems]
        means = contest.mean_at(mark, method, played) if played else None
        both = ["", "", ""]
        if means is not None:
            both = [f"{means.mean():.4f}", f"{m.geometric_mean(means):.4f}", ""]
            if method != OURS and all(contest.seeds(p, OURS, method) for p in played):
                both[-1] = signed(*contest.difference(mark, method, played))
        rows.append([title(method), *cells, *both])
    return table(head, rows)


def _regret(contest: Contest, problem: str, method: str, mark: int) -> str:
    band = contest.band(problem, method)
    if band is None:
        return ""
    i = contest.at(mark)
    return f"{band.mean[i]:.4f}" + plus_minus(float(band.two_se[i]))


def target_table(contest: Contest, kinds: Sequence[str]) -> str:
    """Every method beside the paper preset; the verdict is on the defaults."""
    problems = [p for p in contest.of_kind(*kinds) if (p, PAPER) in contest.runs]
    others = [name for name in contest.players(problems) if name not in (PAPER, CARELESS)]
    found = {(p, o): m.to_target(contest, p, o) for p in problems for o in others}
    rows = []
    for problem in problems:
        first = next((f for o in others if (f := found[problem, o])), None)
        if first is None:
            continue
        cells = [_spent(found[problem, other]) for other in others]
        ours = found.get((problem, OURS))
        rows.append([problem, f"{first.target:.4f}", f"{first.paper:.0f}", *cells,
                     verdict(ours.holds) if ours else ""])  # fmt: skip
    if not rows:
        return ""
    ratios = [_mean_ratio([found[p, o] for p in problems]) for o in others]
    ours = ratios[others.index(OURS)] if OURS in others else None
    last = verdict(ours <= m.NEED_EVALUATIONS) if ours is not None else ""
    cells = ["" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
    rows.append(["ratio, geometric mean", "", "1", *cells, last])
    head = ["problem", "target", title(PAPER), *map(title, others), f"{OURS} no more"]
    return table(head, rows) + (
        "\n\n± two standard errors of the difference to the paper preset, by resampling seeds. "
        f"Needed of {OURS}: a mean ratio of at most {m.NEED_EVALUATIONS:g}, and on no problem "
        "more than the paper preset beyond the error."
    )


def _spent(found: m.ToTarget | None) -> str:
    return "" if found is None else f"{found.method:.0f}{plus_minus(found.two_se, 0)}"


def _mean_ratio(found: Sequence[m.ToTarget | None]) -> float | None:
    if any(f is None for f in found):
        return None
    return float(np.exp(np.mean([np.log(f.ratio) for f in found])))


def careful_table(contest: Contest) -> str:
    """The defaults beside GP-UCB with one repeat, on problems of even noise or none."""
    factor, more = m.NEED_CAREFUL
    rows = []
    for problem in contest.of_kind("even"):
        seeds = contest.seeds(problem, OURS, CARELESS)
        if not seeds:
            continue
        ours, careless = (contest.curves(problem, name, seeds) for name in (OURS, CARELESS))
        for mark in contest.main_marks():
            a, b = ours[:, contest.at(mark)], careless[:, contest.at(mark)]
            band, allowed = m.Band.over_seeds(a - b), factor * b.mean() + more
            rows.append([problem, str(mark), f"{a.mean():.4f}", f"{b.mean():.4f}",
                         f"{band.mean:+.4f}{plus_minus(float(band.two_se))}", f"{allowed:.4f}",
                         str(len(seeds)), verdict(a.mean() <= allowed)])  # fmt: skip
    head = ["problem", "after", OURS, "GP-UCB, k = 1", "difference", "allowed", "seeds", ""]
    return table(head, rows)


def coverage_table(contest: Contest, kinds: Sequence[str]) -> str:
    """How often the interval holds the truth, where a method states one."""
    low, high = m.NEED_COVERAGE
    rows = []
    for method in contest.methods:
        shares = {}
        for problem in contest.of_kind(*kinds):
            runs = contest.runs.get((problem, method), {}).values()
            hits = [hit for record in runs if (hit := m.covered(record)) is not None]
            if hits:
                shares[problem] = hits
        if not shares:
            continue
        pooled = np.concatenate(list(shares.values()))
        worst = min(shares, key=lambda p: np.mean(shares[p]))
        share, lowest = float(pooled.mean()), float(np.mean(shares[worst]))
        holds = low <= share <= high and lowest >= m.NEED_COVERAGE_EACH
        rows.append([title(method), f"{share:.3f}", f"{lowest:.2f} ({worst})", str(len(pooled)),
                     verdict(holds) if len(pooled) >= m.NEED_RUNS else "too few runs"])  # fmt: skip
    head = ["method", "pooled", "lowest", "runs", f"{low:g} to {high:g}"]
    return table(head, rows) if rows else ""


def cost_table(contest: Contest) -> str:
    head = [
        "method",
        "seconds a run, median",
        "slowest",
        "processor seconds, median",
        "points",
        "seeds",
    ]
    rows = []
    for method in contest.methods:
        runs = [r for (_, name), by_seed in contest.runs.items() if name == method
                for r in by_seed.values()]  # fmt: skip
        counts = [len(by_seed) for (_, name), by_seed in contest.runs.items() if name == method]
        wall, cpu = [r.seconds for r in runs], [r.cpu for r in runs]
        points = f"{np.median([r.points for r in runs]):.0f}"
        seeds = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"
        rows.append([title(method), f"{np.median(wall):.1f}", f"{max(wall):.1f}",
                     f"{np.median(cpu):.1f}", points, seeds])  # fmt: skip
    return table(head, rows)


def draw(contest: Contest, path: Path) -> None:
    """One panel a problem: mean regret with bands of two standard errors, peers at their best."""
    from rahbo.plots import styled
    from rahbo.plots.regret import Curve, draw_log_curves
    from rahbo.plots.style import legend_below, panels

    methods = at_their_best(contest)
    looks = dict(zip(methods, _looks(), strict=False))
    columns = min(3, len(contest.problems))
    with styled():
        figure, axes = panels(-(-len(contest.problems) // columns), columns)
        for ax in axes.flat[len(contest.problems) :]:
            ax.set_axis_off()
        for problem, ax in zip(contest.problems, axes.flat, strict=False):
            curves = [
                Curve(title(method), *looks[method], contest.marks, band)
                for method in methods
                if (band := contest.band(problem, method)) is not None
            ]
            draw_log_curves(curves, ax)
            ax.set_title(problem)
            ax.set_xlabel("single evaluations")
            ax.set_ylabel("normalised regret")
        legend_below(figure, axes.flat[: len(contest.problems)], columns)
        figure.savefig(path)


def _looks():
    """Colour and dashes, one pair after the other, all different."""
    return ((color, dash) for dash in cycle(DASHES) for color in PALETTE)
