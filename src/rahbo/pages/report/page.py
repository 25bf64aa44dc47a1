"""Write the report as one HTML file that contains its text, data, scripts and style."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

from rahbo.analysis import SCORES, Interval, Recommendation, short
from rahbo.numerics import Justified, brief, percent
from rahbo.pages.escape import embedded, shown
from rahbo.pages.report.inputs import cut
from rahbo.pages.report.record import ReportRecord
from rahbo.pages.words import blocks, limits, listed, recommendation

# The part of plotly.js 4.1.1 that draws in two dimensions, `plotly.js-cartesian-dist-min` on npm.
# The whole library would be three times as large and take twice as long to open.
PLOTLY = "plotly-cartesian.min.js"
# Of more blocks, those with the largest and the smallest effects are listed.
MOST_BLOCKS = 100
# The most parameters of a setting that is written in one line, and whole in a table.
MOST_IN_LINE, MOST_IN_TABLE = 4, 8


def report_page(record: ReportRecord) -> str:
    """Return the HTML page of a record."""
    found = record.recommendation
    library, script = asset(PLOTLY), asset("numbers.js") + asset("report/report.js")
    style = asset("style.css") + asset("report/report.css")
    parts = {
        "policy": policy(library, script),
        "style": style,
        "source": shown(record.source),
        "made": shown(record.made),
        "basis": shown(record.basis),
        "use": _use(found),
        "certainty": _certainty(found),
        "sentences": " ".join(shown(sentence) for sentence in recommendation(found)),
        "kept": "".join(f"\n<p>{shown(said)}</p>" for said in limits(found)),
        "known": _known(found),
        "runner_ups": _runner_ups(found, record.pictures.points.n),
        "limits": _limits(found),
        "blocks": _blocks(found),
        "symbol": record.pictures.trade.symbol,
        "penalty": record.pictures.trade.penalty,
        "sense": "plus" if record.pictures.minimised else "minus",
        "frontier": _frontier(record),
        "diagnosis": "".join(
            f"<dt>{shown(question)}</dt><dd>{shown(answer)}</dd>"
            for question, answer in record.diagnosis.answers
        ),
        "failures": _failures(record.failures),
        "digest": f"SHA-256 of the file: <code>{shown(record.digest)}</code>."
        if record.digest
        else "",
        "settings": _pairs(record.settings),
        "versions": _pairs(record.versions),
        "data": embedded(record.pictures),
        "library": library,
        "script": script,
    }
    return Template(asset("report/report.html")).substitute(parts)


def asset(name: str) -> str:
    """Return the text of a file in this package."""
    return files("rahbo.pages").joinpath(name).read_text("utf-8")


def policy(*scripts: str) -> str:
    """Return a content security policy under which only these scripts run, without any fetches.

    All inline styles are allowed, because plotly adds some. They cannot fetch anything either.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            "style-src 'unsafe-inline'",
            # Heat maps are images that the page creates itself.
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


# -- parts -------------------------------------------------------------------------------------


def _use(found: Recommendation) -> str:
    """Return the recommended setting: a line, or columns if it would be a long one."""
    tried = f" ({shown(found.tried_in)})" if found.trials else ""
    if len(found.params) <= MOST_IN_LINE:
        use = f'<strong><bdi id="use">{shown(listed(found.params))}</bdi></strong>'
        return f'<p class="large">Use {use}{tried}</p>'
    pairs = "".join(
        f"<div><dt>{shown(name)}</dt><dd>{shown(short(value))}</dd></div>"
        for name, value in found.params.items()
    )
    return f'<p class="large">Use{tried}</p>\n<dl id="use" class="setting">{pairs}</dl>'


def _certainty(found: Recommendation) -> str:
    """Return the sentences of the recommendation, each on its line, a warning in bold."""
    return "<br>\n".join(
        f"<strong>{shown(said)}</strong>" if said == found.warning else shown(said)
        for said in found.sentences
    )


def _known(found: Recommendation) -> str:
    rows = [
        ("mean", found.mean, found.mean_interval),
        ("noise standard deviation", found.noise_std, found.noise_std_interval),
        ("risk value", found.risk, found.risk_interval),
    ]
    body = "".join(
        f'<tr><th scope="row">{name}</th>{_estimate(value, ends)}</tr>'
        for name, value, ends in rows
    )
    worst = Justified.by(found.risk, found.risk_interval).text(found.pessimistic)
    decided = f'<tr><th scope="row">pessimistic value</th>{_cell(worst)}<td></td></tr>'
    head = f"<tr><td></td>{_heads('value', f'{100 * found.level:g} % interval')}</tr>"
    return f"<table><thead>{head}</thead><tbody>{body}{decided}</tbody></table>"


def _point(params: Mapping[str, Any]) -> str:
    """Return a setting in a table. A long one opens on demand."""
    if len(params) <= MOST_IN_TABLE:
        return shown(listed(params))
    first = dict(list(params.items())[:2])
    said = f"{shown(listed(first))} and {len(params) - len(first)} more"
    return f"<details><summary>{said}</summary>{shown(listed(params))}</details>"


def _runner_ups(found: Recommendation, n_points: int) -> str:
    level = f"{100 * found.level:g} %"
    if n_points == 1:
        return "<p>No other setting has been evaluated.</p>"
    if not found.feasible:
        return "<p>Every other evaluated setting violates its limits more.</p>"
    if not found.runner_ups:
        kept = " and is sure to keep its limits" if found.constraints else ""
        which = f"Every clearly different setting that was evaluated{kept}"
        return f"<p>{which} is worse with at least {level} probability.</p>"
    points = ["the recommended setting", *(_point(other.params) for other in found.runner_ups)]
    body = "".join(
        f'<tr>{"".join(map(_cell, one[1:]))}<td class="point">{point}</td></tr>'
        for one, point in zip(found.compared, points, strict=True)
    )
    heads = _heads(SCORES[found.rule], "risk value", "expected gain", f"{level} bound of gain")
    head = f'<tr>{heads}<th scope="col">setting</th></tr>'
    return f'<table class="stacked"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _limits(found: Recommendation) -> str:
    """Return the table of the outcomes that have limits; nothing without them."""
    if not found.constraints:
        return ""
    body = "".join(
        f'<tr><th scope="row">{shown(cut(check.name))}</th>'
        f"<td>{'yes' if check.kept else 'not sure'}</td>{_cell(shown(percent(check.chance)))}"
        f"{_estimate(check.quantile, check.interval, check.pessimistic)}"
        f'<td class="point">{shown(check.constraint.described)}</td></tr>'
        for check in found.constraints
    )
    level = f"{100 * found.level:g} % interval"
    measured = dict.fromkeys(check.constraint.measured for check in found.constraints)
    heads = _heads("probability", " or ".join(measured), level, "pessimistic")
    head = (
        f'<tr><th scope="col">outcome</th><th scope="col">kept</th>{heads}'
        '<th scope="col">limit</th></tr>'
    )
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f'\n<h3 id="limits">Limits</h3>\n<div class="wide">{table}</div>'


def _blocks(found: Recommendation) -> str:
    """Return the table of the effects of blocks; nothing without them."""
    known = found.blocks
    if known is None:
        return ""
    ends = known.intervals
    rows = sorted(known.effects.items(), key=lambda row: -row[1])
    if len(rows) > MOST_BLOCKS:
        rows = rows[: MOST_BLOCKS // 2] + rows[-MOST_BLOCKS // 2 :]
    body = "".join(
        f'<tr><th scope="row">{shown(cut(name))}</th>{_estimate(effect, ends[name])}</tr>'
        for name, effect in rows
    )
    heads = _heads("effect", f"{100 * known.level:g} % interval")
    head = f'<tr><th scope="col">block</th>{heads}</tr>'
    some = "" if len(rows) == len(known.effects) else f" The {len(rows)} largest are shown."
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return (
        f'\n<h3 id="blocks">Blocks</h3>\n<p>{shown(blocks(known))} The effect of a block is how '
        f"much its values lie above those of the same settings in an average block.{some}</p>\n"
        f'<div class="wide">{table}</div>'
    )


def _frontier(record: ReportRecord) -> str:
    """Return the table of the points that each coefficient would report."""
    trade, points = record.pictures.trade, record.frontier.evaluated
    chosen = [(c, points[c.point], record.pictures.points.count[c.point]) for c in trade.choices]
    body = "".join(
        f"<tr>{_number(c.start, 4)}{_number(c.end, 4)}{_estimate(p.mean, p.mean_interval)}"
        f"{_estimate(p.noise_std, p.noise_std_interval)}{_number(count)}"
        f'<td class="point">{_point(p.params)}</td></tr>'
        for c, p, count in chosen
    )
    level = f"{100 * record.recommendation.level:g} % interval"
    heads = _heads(f"{trade.symbol} from", "to", "mean", level, "noise std", level, "evaluated")
    head = f'<tr>{heads}<th scope="col">point</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _failures(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return ""
    body = "".join(
        f"<tr>{_number(times)}<td>{shown(reason)}</td></tr>" for reason, times in reasons.items()
    )
    head = f'<tr>{_heads("times")}<th scope="col">reason</th></tr>'
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f'<h3>Failed evaluations</h3><div class="wide">{table}</div>'


def _pairs(named: Mapping[str, str]) -> str:
    rows = (
        f'<tr><th scope="row">{shown(name)}</th><td><code>{shown(value)}</code></td></tr>'
        for name, value in named.items()
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _heads(*names: str) -> str:
    return "".join(f'<th scope="col" class="number">{name}</th>' for name in names)


def _number(value: float, digits: int = 5) -> str:
    return _cell(brief(value, digits) if isinstance(value, float) else short(value))


def _estimate(value: float, interval: Interval, *more: float) -> str:
    """Return an estimate, its interval and other numbers, in the digits that it justifies."""
    digits = Justified.by(value, interval)
    ends = " to ".join(map(digits.text, interval))
    return "".join(map(_cell, (digits.text(value), ends, *map(digits.text, more))))


def _cell(text: str) -> str:
    return f'<td class="number">{text.replace("inf", "∞")}</td>'
