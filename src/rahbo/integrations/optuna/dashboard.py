"""The risk view of a study in Optuna's own dashboard: two figures and a note.

The dashboard stores figures in pieces of two thousand characters, so the figures are kept small.
"""

from __future__ import annotations

from typing import Any, Unpack

import plotly.graph_objects as go
from optuna.study import Study
from optuna_dashboard import get_note, save_note, save_plotly_graph_object

from rahbo.analysis import Interval, Prediction, Recommendation
from rahbo.integrations.optuna.answers import optimizer_of
from rahbo.optimizer import Optimizer
from rahbo.pages import basis, history_of, listed, shown, visible
from rahbo.settings import Keywords

# The first and last line of our part of the note. Text before and after it is the user's.
BEGIN, END = "## Risk-averse recommendation (rahbo)", "*End of what rahbo wrote.*"
BLUE, RED = "#0072b2", "#c24e00"
# The most points drawn, and the most characters of their parameters.
MOST_POINTS, MOST_CHARACTERS = 500, 100


def publish(
    study: Study, probability: float, block_attr: str | None, **settings: Unpack[Keywords]
) -> None:
    """See `rahbo.integrations.optuna.publish`."""
    optimizer = optimizer_of(study, probability=probability, block_attr=block_attr, **settings)
    found = optimizer.recommend()
    save_plotly_graph_object(study, noise_figure(optimizer, found), graph_object_id="rahbo-noise")
    save_plotly_graph_object(study, history_figure(optimizer), graph_object_id="rahbo-history")
    save_note(study, _with(get_note(study), _described(optimizer, found)))


# -- figures -----------------------------------------------------------------------------------


def noise_figure(optimizer: Optimizer, found: Recommendation) -> go.Figure:
    """Return a figure of mean against noise of the evaluated points, with credible intervals."""
    frontier = optimizer.frontier()
    may = [frontier.evaluated[i] for i in frontier.candidates]
    best_first = sorted(may, key=lambda p: optimizer.settings.sign * p.risk, reverse=True)
    chosen = next(p for p in best_first if p.params == found.params)
    level = f"{100 * found.level:g} %"
    traces = [
        _points("evaluated", best_first[:MOST_POINTS], BLUE, 7),
        _points("chosen by some alpha", [c.prediction for c in frontier.choices], BLUE, 12),
        _points("recommended", [chosen], RED, 15),
    ]
    traces[1].marker.symbol, traces[1].error_x, traces[1].error_y = "circle-open", None, None
    title = f"Mean against noise, with {level} intervals (rahbo)"
    return _figure(traces, title, "noise standard deviation", "mean")


def history_figure(optimizer: Optimizer) -> go.Figure:
    """Return a figure of the values in order, and of the best pessimistic value over time."""
    history = history_of(optimizer)
    number, value = history.number[-4 * MOST_POINTS :], history.value[-4 * MOST_POINTS :]
    told = go.Scatter(
        x=number, y=value, mode="markers", name="values", marker={"color": BLUE, "size": 5},
        opacity=0.6,
    )  # fmt: skip
    best = go.Scatter(
        x=history.best_at, y=_few(history.best), mode="lines+markers",
        name="best pessimistic value", line={"color": RED},
    )  # fmt: skip
    title = "Values and best pessimistic value (rahbo)"
    return _figure([told, best], title, "evaluation", "value")


def _points(name: str, points: list[Prediction], color: str, size: int) -> go.Scatter:
    means, stds = [p.mean for p in points], [p.noise_std for p in points]
    return go.Scatter(
        x=_few(stds),
        y=_few(means),
        error_x=_bars(stds, [p.noise_std_interval for p in points]),
        error_y=_bars(means, [p.mean_interval for p in points]),
        text=[shown(listed(p.params)[:MOST_CHARACTERS]) for p in points],
        hovertemplate="%{text}<br>mean %{y}, noise %{x}<extra></extra>",
        mode="markers",
        name=name,
        marker={"color": color, "size": size},
    )


def _bars(centres: list[float], intervals: list[Interval]) -> dict[str, Any]:
    pairs = list(zip(centres, intervals, strict=True))
    return {
        "array": _few([max(0.0, ends.upper - centre) for centre, ends in pairs]),
        "arrayminus": _few([max(0.0, centre - ends.lower) for centre, ends in pairs]),
        "thickness": 0.8,
        "width": 0,
    }


def _few(values: list[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _figure(traces: list[go.Scatter], title: str, x: str, y: str) -> go.Figure:
    figure = go.Figure(traces)
    figure.update_layout(
        title=title,
        xaxis_title=x,
        yaxis_title=y,
        legend={"orientation": "h", "y": -0.25},
        # The default template is longer than everything else, and the dashboard has its own.
        template=go.layout.Template(),
    )
    return figure


# -- the note ----------------------------------------------------------------------------------


def _described(optimizer: Optimizer, found: Recommendation) -> str:
    """Return the recommendation in Markdown, with user text where it cannot act as markup."""
    text = visible(str(found))
    fence = "```"
    while fence in text:
        fence += "`"
    parts = (BEGIN, f"{fence}\n{text}\n{fence}", shown(basis(optimizer)), END)
    return "\n\n".join(parts)


def _with(note: str, ours: str) -> str:
    """Return a note with our part replaced, or added at its end."""
    before, begin, rest = note.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        return f"{before}{ours}{after}"
    return f"{note.rstrip()}\n\n{ours}".lstrip()
