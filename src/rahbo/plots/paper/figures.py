"""The figures of each experiment, drawn from our records.

`FIGURES` lists which figures an experiment has. An experiment that is not listed gets the regrets
of all its methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from rahbo.experiments import TITLES, Experiment, Runs, Store, problem_named, replay
from rahbo.numerics import Array
from rahbo.plots.fits import figure_of_fits, fit_1d
from rahbo.plots.paper.alphas import (
    figure_of_regrets_by_alpha,
    figure_of_reported,
    figure_of_tried,
    outcomes,
)
from rahbo.plots.paper.forest import Best, figure_of_results, figure_of_timeline, results
from rahbo.plots.paper.landscapes import (
    BRANIN_MAXIMA,
    figure_of_acquired,
    figure_of_line,
    figure_of_plane,
    line,
    plane,
)
from rahbo.plots.paper.repeats import LENGTHSCALE, RepeatsStudy, figure_of_repeats, repeats_study
from rahbo.plots.regret import Kind, figure_of_regrets, regret_curves
from rahbo.plots.style import PANEL, save, styled
from rahbo.problems import timeline

HISTOGRAM_SEEDS = 9
FITTED_SEEDS = 3
# The Branin function falls to -308 in a corner; its maxima are -0.4.
BRANIN_LOWEST = -20.0
CALLED: Mapping[str, str] = {
    "fel": "Free-electron laser with measured mean and invented noise",
    "euxfel": "European XFEL with measured mean and measured noise",
    "forest": "Random forest",
}
PUBLISHED = (
    " RAHBO-US is drawn twice: once with its learning rounds counted, and once as published, "
    "counted from the end of its learning rounds."
)
BEST_POINT = "The best point has the largest MV for the panel's α."


@dataclass(frozen=True, eq=False)
class PaperFigure:
    """A figure, its file name without suffix, and its caption."""

    name: str
    caption: str
    figure: Figure


Figures = Iterator[PaperFigure]
Draw = Callable[[Sequence[Experiment], Store], Figures]


def figures(name: str, experiments: Sequence[Experiment], store: Store) -> Figures:
    """Return the figures of finished experiments of one name, drawn one at a time."""
    return FIGURES.get(name, regrets)(experiments, store)


def save_figures(
    name: str, experiments: Sequence[Experiment], store: Store, folder: Path
) -> list[PaperFigure]:
    """Draw all figures of an experiment and write each as PNG and PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for figure in figures(name, experiments, store):
        save(figure.figure, folder / figure.name)
        drawn.append(figure)
    return drawn


def figures_markdown(drawn: Sequence[PaperFigure]) -> str:
    """Return Markdown that shows figures in the same folder, with their captions."""
    return "\n".join(f"![{f.name}]({f.name}.png)\n\n{f.caption}\n" for f in drawn)


def regrets(
    experiments: Sequence[Experiment],
    store: Store,
    kinds: Sequence[Kind] = ("cumulative", "simple"),
) -> Figures:
    """Draw regrets of all methods, one figure per problem, risk coefficient and repeats."""
    for e, problem in _each(experiments):
        for k, alpha in product(e.repeats, e.alphas):
            curves = regret_curves(e, store, problem, alpha, k)
            some = f"-k{k}" if len(e.repeats) > 1 else ""
            yield PaperFigure(
                f"{problem}-regret-alpha{alpha:g}{some}",
                _regret_caption(e, problem, alpha, k),
                figure_of_regrets(curves, kinds),
            )


def _regret_caption(e: Experiment, problem: str, alpha: float | None, k: int) -> str:
    risk = "by risk coefficient" if alpha is None else f"α = {alpha:g}"
    return (
        f"{_called(problem)}, {risk}, k = {k}: regret by round after the initial design, "
        f"mean over {e.seeds} seeds ± 2 standard errors. Simple regret is the regret of the point "
        "with the largest lower bound." + (PUBLISHED if "rahbo-us" in e.methods else "")
    )


def sine(experiments: Sequence[Experiment], store: Store) -> Figures:
    """Draw the functions, the regrets, and GP fits of GP-UCB and RAHBO."""
    for _, problem in _each(experiments):
        yield PaperFigure(
            f"{problem}-functions",
            f"{_called(problem)}. Left: the objective and ten noisy evaluations of 40 points. "
            "Right: the noise variance and the sample variances of these evaluations.",
            figure_of_line(line(problem_named(problem))),
        )
    yield from regrets(experiments, store, ("cumulative", "simple", "suboptimality"))
    for e, problem in _each(experiments):
        for seed in range(min(FITTED_SEEDS, e.seeds)):
            yield _fits(e, problem, seed)


def _fits(e: Experiment, problem: str, seed: int) -> PaperFigure:
    alpha, truth = max(e.alphas), problem_named(problem)
    found = {}
    for method in ("gpucb", "rahbo"):
        case = e.runs_of(problem, method, alpha, e.repeats[0])[seed]
        found[TITLES[method]] = fit_1d(replay(case))
    with styled():
        figure = figure_of_fits(
            found,
            mean=lambda x: truth.f(x[:, None]),
            noise_var=lambda x: truth.noise_var(x[:, None]),
        )
        figure.set_size_inches(2.8 * PANEL[0], 2.2 * PANEL[1])
    return PaperFigure(
        f"{problem}-fits-{seed + 1}",
        f"{_called(problem)}: the GPs of GP-UCB and of RAHBO (α = {alpha:g}) after {e.rounds} "
        f"rounds from the same initial design, number {seed + 1}. Top: the objective. Bottom: the "
        "noise variance.",
        figure,
    )


def branin(experiments: Sequence[Experiment], store: Store) -> Figures:
    """Draw the landscape, the noise at acquired points, and the regrets."""
    for e, problem in _each(experiments):
        yield PaperFigure(
            f"{problem}-landscape",
            f"{_called(problem)}: objective with its three equal maxima, noise variance, and "
            f"one noisy evaluation at every point of a grid. Values below {BRANIN_LOWEST:g} "
            "share one colour.",
            figure_of_plane(plane(problem_named(problem), BRANIN_MAXIMA), BRANIN_LOWEST),
        )
        yield _acquired(e, store, problem)
    yield from regrets(experiments, store)


def _acquired(e: Experiment, store: Store, problem: str) -> PaperFigure:
    seeds = min(HISTOGRAM_SEEDS, e.seeds)
    by_alpha: dict[str, dict[str, Array]] = {}
    for alpha in e.alphas:
        cases = {m: e.runs_of(problem, m, alpha, e.repeats[0])[:seeds] for m in e.methods}
        by_alpha[f"α = {alpha:g}"] = {
            method: Runs.load(store, some).tried("noise_var") for method, some in cases.items()
        }
    names, maxima = list(BRANIN_MAXIMA), np.array(list(BRANIN_MAXIMA.values()))
    marks = dict(zip(names, problem_named(problem).noise_var(maxima).tolist(), strict=True))
    return PaperFigure(
        f"{problem}-acquired",
        f"{_called(problem)}: noise variance at the points acquired in {e.rounds} rounds of "
        f"{seeds} seeds. A, B and C mark the noise variances of the three maxima.",
        figure_of_acquired(by_alpha, r"noise variance $\rho^2$", marks),
    )


def repeats(experiments: Sequence[Experiment], store: Store) -> Figures:
    """Draw regret at equal numbers of evaluations by k, beside Theorem 1's bound."""
    problems = dict.fromkeys(problem for e in experiments for problem in e.problems)
    for problem in problems:
        some = [e for e in experiments if problem in e.problems]
        alpha, budget = some[0].alphas[0], max(e.rounds * max(e.repeats) for e in some)
        study = repeats_study(some, store, problem, alpha)
        yield PaperFigure(
            f"{problem}-repeats",
            f"{_called(problem)}, α = {alpha:g}: RAHBO with k repeats per round and {budget}/k "
            f"rounds after an initial design of {some[0].n_initial} points, mean over "
            f"{some[0].seeds} seeds ± 2 standard errors. {_repeats_caption(study)}",
            figure_of_repeats(study),
        )


def _repeats_caption(study: RepeatsStudy) -> str:
    return (
        "Left: regret summed over single evaluations. Middle: regret of the reported point. "
        "Right: the final sum by k, beside Theorem 1's corrected bound on the same sum, each "
        "relative to its value at the smallest k. The bound assumes Matérn 5/2 kernels with "
        f"lengthscale {LENGTHSCALE:g} in units of the cube and variances "
        f"{study.kernel.variance:.3g} (objective) and {study.noise_kernel.variance:.3g} (noise "
        "variance), λ = 1 and δ = 0.1. It uses greedy upper bounds of the information gains, and "
        f"the functions' norms on {study.candidates} points."
    )


def laser(experiments: Sequence[Experiment], store: Store) -> Figures:
    """Draw points tried, points reported, and regrets, each by risk coefficient."""
    for e, problem in _each(experiments):
        yield from _laser(e, store, problem)


def _laser(e: Experiment, store: Store, problem: str) -> Figures:
    (k,) = e.repeats
    found = outcomes(e, store, problem, k, ("pessimistic", "best_observed"))
    called = _called(problem)
    yield PaperFigure(
        f"{problem}-tried",
        f"{called}: objective and noise variance at the points acquired in {e.rounds} rounds of "
        f"{e.seeds} seeds, by risk coefficient. The initial design is the same for all methods and "
        f"is left out. GP-UCB's runs are the same in all panels. {BEST_POINT}",
        figure_of_tried(found),
    )
    yield PaperFigure(
        f"{problem}-reported",
        f"{called}: noise variance and objective at the point reported after {e.rounds} rounds, "
        f"{e.seeds} seeds (small marks), with means and standard deviations. Top: each method "
        f"reports its own largest lower bound. Bottom: all report the largest sample mean. "
        f"{BEST_POINT} The distance of a point below the line is its regret.",
        figure_of_reported(found),
    )
    curves = {alpha: regret_curves(e, store, problem, alpha, k) for alpha in e.alphas}
    yield PaperFigure(
        f"{problem}-regret",
        _regret_caption(e, problem, None, k),
        figure_of_regrets_by_alpha(curves, ("cumulative", "simple")),
    )


def forest(experiments: Sequence[Experiment], store: Store) -> Figures:
    """Draw the data, all results of the table, regrets, and points reported by empirical MV."""
    yield PaperFigure(
        "forest-data",
        "Credit-card transactions by hour, without and with fraud. Forests are trained on the "
        "first half of all transactions. The second half is split into five folds of equal size, "
        f"which contain {', '.join(map(str, timeline().frauds[1:]))} frauds.",
        figure_of_timeline(timeline()),
    )
    for e, problem in _each(experiments):
        yield _results(e, problem)
        yield from _forest(e, store, problem)


def _results(e: Experiment, problem: str) -> PaperFigure:
    found = results(problem_named(problem), (0.0, *e.alphas))
    return PaperFigure(
        f"{problem}-results",
        f"{_called(problem)}: mean and variance of the five fold scores of all "
        f"{len(found.every.f):,} settings. The right panel enlarges the frame. No setting lies "
        "above the line through the best setting for its α. Neighbouring settings differ from the "
        "best by at most one in each parameter. If they are scattered, the best setting is best by "
        "luck. " + " ".join(_best_caption(alpha, best) for alpha, best in found.best.items()),
        figure_of_results(found),
    )


def _best_caption(alpha: float, best: Best) -> str:
    setting = ", ".join(f"{name} {value}" for name, value in best.params.items())
    f, noise_var = float(best.there.f[0]), float(best.there.noise_var[0])
    return (
        f"α = {alpha:g}: {setting}, with mean {f:.3f} and variance {noise_var:.2g}. The median MV "
        f"of its neighbours is smaller by {float(np.median(best.loss)):.2g}."
    )


def _forest(e: Experiment, store: Store, problem: str) -> Figures:
    (k,) = e.repeats
    called = _called(problem)
    curves = {alpha: regret_curves(e, store, problem, alpha, k) for alpha in e.alphas}
    yield PaperFigure(
        f"{problem}-regret",
        f"{called}, by risk coefficient. Top: regret of the evaluated setting with the largest "
        "empirical MV for the panel's α, for all methods. Bottom: fold scores evaluated so far. A "
        "setting that is proposed again counts as a round, but its scores are known already. Mean "
        f"over {e.seeds} seeds ± 2 standard errors by round after the initial design." + PUBLISHED,
        figure_of_regrets_by_alpha(curves, ("empirical", "evaluations")),
    )
    yield PaperFigure(
        f"{problem}-reported",
        f"{called}: mean and variance of the fold scores at the setting reported after {e.rounds} "
        f"rounds, {e.seeds} seeds (small marks), with means and standard deviations. Top: all "
        "methods report the largest empirical MV for the panel's α. Bottom: each reports its own "
        f"largest lower bound. {BEST_POINT} The distance of a point below the line is its regret. "
        "Equal settings cover each other.",
        figure_of_reported(outcomes(e, store, problem, k, ("empirical", "pessimistic"))),
    )


def _each(experiments: Sequence[Experiment]) -> Iterator[tuple[Experiment, str]]:
    """Yield each problem of each experiment."""
    return ((e, problem) for e in experiments for problem in e.problems)


def _called(problem: str) -> str:
    """Return a problem's name for the start of a sentence."""
    if problem in CALLED:
        return CALLED[problem]
    name, _, scale = problem.partition("-s")
    return f"{name.capitalize()} (s = {scale})" if scale else name.capitalize()


FIGURES: Mapping[str, Draw] = {
    "sine": sine,
    "branin": branin,
    "repeats": repeats,
    "fel": laser,
    "euxfel": laser,
    "forest": forest,
}
