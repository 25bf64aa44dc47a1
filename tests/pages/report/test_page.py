"""The page as a file, and in a browser."""

import hashlib
import re
from dataclasses import fields, replace
from html.parser import HTMLParser

import pytest

import constrained
from browser import needs_chromium
from degenerate_runs import RUNS, choices, made, normal
from page_runs import blocked, page_of, run
from rahbo import AtLeast, AtMost, Candidates, Categorical, Float, MeanVariance, Optimizer
from rahbo.pages import record_of, report_page
from rahbo.pages.report import maps
from rahbo.pages.report import page as report
from rahbo.pages.report.record import CELLS

MOST_BYTES = 6_000_000
# The digest of package/plotly-cartesian.min.js in plotly.js-cartesian-dist-min 4.1.1.
PUBLISHED = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
ATTACKS = (
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 2'>",
    '<a href="javascript:window.ran = 3">link</a><b>bold</b>&lt;i&gt;',
    '" onmouseover="window.ran = 4" x=\'\u2028',
)


def hostile() -> Optimizer:
    """A run whose names, choices and reasons are markup and script."""
    space = {ATTACKS[0]: Float(0.0, 1.0), ATTACKS[1]: Categorical([ATTACKS[2], ATTACKS[3]])}
    optimizer = run(8, 2, space)
    optimizer.tell_failure(optimizer.trials[0].params, ATTACKS[0] + ATTACKS[1])
    return optimizer


@pytest.fixture(scope="module")
def long_page() -> str:
    """The report of 1,000 evaluations."""
    return page_of(run(200, 5))


# -- the file ----------------------------------------------------------------------------------


class Tags(HTMLParser):
    """What a parser of HTML finds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.slow
def test_a_long_run_is_one_small_file_that_names_no_other(long_page):
    assert len(long_page.encode("utf-8")) < MOST_BYTES
    ours = long_page.replace(report.asset(report.PLOTLY), "")
    assert not re.search(r"https?:|src=|<link|@import|url\(", ours)
    assert "Based on 1,000 evaluations at 200 points." in ours


def test_the_largest_run_stays_a_small_file(rng):
    record = record_of(run(), source="run", made="now")
    numbers = [float(f"{v:.6g}") for v in rng.standard_normal(CELLS // 50)]
    columns = {f.name: numbers for f in fields(record.pictures.points) if f.type != "int"}
    columns["places"] = [rng.permutation(numbers[:50]).tolist() for _ in numbers]
    pictures = replace(
        record.pictures,
        points=replace(record.pictures.points, **columns),
        history=replace(record.pictures.history, number=[10**6] * 4000, value=4 * numbers),
        # As if there were six inputs instead of three.
        maps=[record.pictures.maps] * 5,
    )
    page = report_page(replace(record, pictures=pictures))
    assert len(page.encode("utf-8")) < MOST_BYTES


def test_hostile_values_make_no_element_and_no_attribute():
    clean, found = (Tags(page_of(o, s)) for o, s in ((run(8, 2), "x"), (hostile(), ATTACKS[1])))
    assert set(found.tags) == set(clean.tags)
    assert found.tags.count("script") == 3
    assert found.attributes == clean.attributes


def test_plotly_is_as_published_and_fits_in_a_page():
    script = report.asset(report.PLOTLY)
    assert hashlib.sha256(script.encode("utf-8")).hexdigest() == PUBLISHED
    assert "</script" not in script


# -- in a browser ------------------------------------------------------------------------------


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_run_opens_with_its_plots_and_fetches_nothing(opened, long_page, width):
    page = opened(long_page, width, dark=width == 390)
    assert {address.split(":")[0] for address in page.requests} <= {"file", "data", "blob"}
    drawn = "document.querySelectorAll('#{} .scatterlayer .point').length"
    assert page.evaluate(drawn.format("frontier-plot")) > 200
    assert page.evaluate(drawn.format("history-plot")) > 1000
    assert page.evaluate("document.querySelectorAll('#map-plot .heatmaplayer image').length") == 1
    assert page.evaluate("document.querySelectorAll('#points-table tbody tr').length") == 200
    buttons = "[...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title).join()"
    assert not re.search("share|cloud|plotly|edit", page.evaluate(buttons).lower())


@needs_chromium
def test_the_slider_moves_the_point(opened):
    optimizer = run(40, 3, risk=MeanVariance(1.0))
    page = opened(optimizer)
    frontier = optimizer.frontier()
    chosen = "Number(document.getElementById('choice').dataset.point)"
    star = "((t) => [t.x[0], t.y[0]])(document.getElementById('frontier-plot').data[3])"

    own = frontier.evaluated[page.evaluate(chosen)]
    assert own.params == optimizer.recommend().params
    seen = set()
    for place in (0, 250, 500, 750, 1000):
        page.choose(slider=str(place))
        alpha = page.evaluate("document.getElementById('weight').valueAsNumber")
        expected = frontier.at(alpha).prediction
        assert frontier.evaluated[page.evaluate(chosen)].params == expected.params
        assert page.evaluate(star) == pytest.approx([expected.noise_std, expected.mean], rel=1e-4)
        seen.add(page.evaluate("document.getElementById('choice').textContent"))
    assert len({page_text.split("use ")[1].split(". Mean")[0] for page_text in seen}) > 1
    page.evaluate("document.getElementById('own').click()")
    assert frontier.evaluated[page.evaluate(chosen)].params == own.params


@needs_chromium
def test_other_inputs_and_orders_can_be_chosen(opened):
    page = opened(run())
    titles = (
        "['xtitle', 'ytitle'].map((t) => document.querySelector('#map-plot .' + t).textContent)"
    )
    for across, up, expected in (("1", "0", ["depth", "lr"]), ("2", "1", ["kind", "depth"])):
        page.choose(across=across)
        page.choose(up=up)
        assert page.evaluate(titles) == expected
    page.choose(up="", quantity="mean")
    assert page.evaluate(titles) == ["kind", "mean"]
    # Without failures, the inputs follow six columns of results.
    page.evaluate("document.querySelectorAll('#points-table th button')[7].click()")
    depths = page.evaluate(
        "[...document.querySelectorAll('#points-table tbody tr')]"
        ".map((row) => Number(row.cells[7].textContent))"
    )
    assert depths == sorted(depths, reverse=True)


@needs_chromium
def test_a_hostile_run_is_text_and_runs_nothing(opened):
    page = opened(page_of(hostile(), source=ATTACKS[1]), 390)
    page.evaluate("document.getElementById('points-table').querySelector('button').click()")
    shown = page.evaluate("document.body.textContent")
    for attack in ATTACKS[:3]:
        assert attack in shown
    titles = page.evaluate("document.querySelector('#map-plot .infolayer').textContent")
    assert all(attack[:25] in titles for attack in ATTACKS[:2])
    assert page.evaluate("window.ran === undefined")
    assert (
        page.evaluate("document.querySelectorAll('main img, main svg a, main script').length") == 0
    )
    assert {address.split(":")[0] for address in page.requests} <= {"file", "data"}


@needs_chromium
def test_lists_and_single_inputs_are_drawn_too(opened):
    rows = [{"x": i / 9, "kind": "ab"[i % 2]} for i in range(10)]
    for space in (Candidates(rows), {"x": Float(0.0, 1.0)}):
        page = opened(run(6, 2, space, direction="minimize"), 390)
        assert page.evaluate("document.querySelectorAll('#map-plot .scatterlayer .trace').length")


# Every quantity over the first inputs, alone and in pairs, and the whole of the slider.
USE_ALL = """(async () => {
  const get = (id) => document.getElementById(id);
  const set = async (id, value, kind) => {
    get(id).value = value;
    get(id).dispatchEvent(new Event(kind));
    await new Promise((resolve) => setTimeout(resolve));
  };
  for (const quantity of ["mean", "noise"]) {
    await set("quantity", quantity, "change");
    for (const { value: across } of [...get("across").options].slice(0, 2)) {
      await set("across", across, "change");
      for (const { value: up } of [...get("up").options].slice(-2)) await set("up", up, "change");
    }
  }
  for (const slide of [0, 1, 500, 1000]) await set("slider", slide, "input");
  get("points-table").querySelector("th button").click();
})()"""
# What cannot be placed: attributes of the figures that are not numbers.
MISPLACED = """[...document.querySelectorAll('.plot svg *')].filter(
  (e) => [...e.attributes].some((a) => /NaN|Infinity|undefined/.test(a.value))).length"""
LABELS = """[...document.querySelectorAll('#{} .{}tick text')].map((t) => t.textContent)"""


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("name", RUNS)
def test_degenerate_runs_are_drawn_without_an_error(opened, name):
    page = opened(RUNS[name]())
    for plot in ("frontier-plot", "history-plot", "map-plot"):
        for axis in "xy":
            labels = page.evaluate(LABELS.format(plot, axis))
            assert 1 <= len(labels) == len(set(labels)) <= 40, (plot, axis, labels)
    page.evaluate(USE_ALL)
    assert page.evaluate(MISPLACED) == 0


@pytest.mark.slow
@needs_chromium
def test_values_far_from_zero_are_drawn_apart(opened):
    optimizer = RUNS["offset"]()
    page = opened(optimizer)
    drawn = page.evaluate("document.getElementById('history-plot').data[0].y")
    told = [value for trial in optimizer.trials for value in trial.values.values()]
    title = page.evaluate("document.querySelector('#history-plot .ytitle').textContent")
    base = float(title.removeprefix("value − "))
    assert base == pytest.approx(1e12, rel=1e-14)
    assert drawn == [value - base for value in told]
    assert len(set(drawn)) > 2


@pytest.mark.slow
@needs_chromium
def test_two_inputs_of_many_choices_have_no_map_together(opened):
    space = {"k": choices(140), "l": choices(140), "x": Float(0.0, 1.0)}
    text = page_of(made(space, normal()))
    assert len(text.encode("utf-8")) < MOST_BYTES
    page = opened(text)
    page.choose(across="0")
    offered = "[...document.getElementById('up').options].map((o) => o.textContent)"
    assert page.evaluate(offered) == ["x", "no other input"]
    assert "Two inputs with many choices each have no map together" in page.text()


@pytest.mark.slow
@needs_chromium
def test_a_single_input_of_too_many_choices_has_no_map(opened, monkeypatch):
    monkeypatch.setattr(maps, "CHOICES", 5)
    page = opened(made({"k": choices(6)}, normal()))
    assert "There is no map" in page.text()
    assert page.evaluate("document.getElementById('map-plot').offsetHeight") == 0


@pytest.mark.slow
@needs_chromium
def test_plots_fit_on_paper(opened):
    page = opened(run(12, 2))
    page.call("Emulation.setEmulatedMedia", media="print")
    widths = "[...document.querySelectorAll('.plot .main-svg')].map((svg) => svg.clientWidth)"
    page.wait_until(f"{widths}.every((width) => width <= 680)")
    assert len(page.evaluate(widths)) > 0
    page.call("Emulation.setEmulatedMedia", media="screen")
    page.wait_until(f"{widths}.some((width) => width > 680)")


def test_limits_and_blocks_are_shown_only_where_there_are_some():
    plain, limited = page_of(run(8, 2)), page_of(constrained.told(20))
    assert not re.search('id="(limits|blocks)"', plain)
    assert 'id="limits"' in limited
    assert "at most 0.8 with probability 0.95" in limited
    broken = page_of(constrained.told(8, constraints={"cost": AtMost(-1.0)}))
    assert "<strong>No evaluated setting is sure to keep its limits (cost)." in broken
    assert "violates its limits more" in broken
    blocks = page_of(blocked())
    assert "2 blocks differ with a standard deviation of" in blocks
    assert re.search('<th scope="row">monday</th><td class="number">0.4', blocks)


def test_of_very_many_blocks_the_extreme_ones_are_listed(monkeypatch):
    monkeypatch.setattr(report, "MOST_BLOCKS", 2)
    record = record_of(blocked(), source="run", made="now")
    known = record.recommendation.blocks
    effects = {f"block {i}": float(i) for i in range(5)}
    many = replace(known, effects=effects, effect_stds=effects)
    page = report_page(replace(record, recommendation=replace(record.recommendation, blocks=many)))
    rows = re.findall('<th scope="row">block ([0-9])</th>', page)
    assert rows == ["4", "0"]
    assert "The 2 largest are shown." in page


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
def test_points_that_may_break_a_limit_are_hollow_and_grey(opened, width):
    optimizer = constrained.told(30)
    page = opened(optimizer, width, dark=width == 390)
    kept = optimizer.limits.kept(optimizer.observations.X).sum()
    traces = page.evaluate("document.getElementById('frontier-plot').data.map((t) => t.x.length)")
    assert (traces[0], traces[4]) == (kept, 30 - kept)
    last = "document.getElementById('frontier-plot').data[4]"
    assert page.evaluate(f"{last}.marker.symbol") == "circle-open"
    assert page.evaluate(f"{last}.hovertext[0]").count("limits kept: not sure") == 1
    assert "not sure to keep its limits" in page.text()
    rows = "[...document.querySelectorAll('#points-table tbody tr')]"
    assert page.evaluate(f"{rows}.filter((r) => r.className === 'unsure').length") == 30 - kept
    # Those that keep their limits come first, and the recommended one is the best of them.
    assert page.evaluate(f"{rows}[0].className") == "chosen"
    heads = page.evaluate(
        "[...document.querySelectorAll('#points-table th')].map((h) => h.textContent)"
    )
    assert heads[:4] == ["limits kept", "cost", "mean", "noise std"]
    assert heads[-2:] == ["x", "y"]
    assert "Only points that were sure to keep their limits count." in page.text()
    page.choose(quantity="0")
    assert page.evaluate("document.querySelectorAll('#map-plot .heatmaplayer image').length") == 1
    page.choose(quantity="0", up="")
    limit = "document.getElementById('map-plot').data.at(-1)"
    assert page.evaluate(f"{limit}.y") == [0.8, 0.8]
    titles = page.evaluate("document.querySelector('#map-plot .infolayer').textContent")
    assert "cost, 95 % quantile" in titles


@needs_chromium
def test_hostile_outcomes_and_blocks_are_text(opened):
    names = [attack.replace("\u2028", "") for attack in ATTACKS]
    limits = {names[0]: AtMost(0.8), names[1]: AtLeast(-9.0), "__proto__": AtMost(9.0)}
    optimizer = Optimizer({"x": Float(0.0, 1.0)}, seed=0, constraints=limits)
    for i in range(6):
        told = dict(zip(limits, (i / 5.0, 0.1 * i, 0.0), strict=True))
        optimizer.tell({"x": i / 5.0}, 0.1 * i, outcomes=told, block=names[2 + i % 2])
    page = opened(optimizer, 390)
    page.evaluate("document.getElementById('points-table').querySelector('button').click()")
    page.choose(quantity="0")
    shown = page.evaluate("document.body.textContent")
    assert all(name in shown for name in names)
    assert page.evaluate("window.ran === undefined")
    assert page.evaluate("document.querySelectorAll('main img, main svg a, main b').length") == 0
