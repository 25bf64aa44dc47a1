"""`rahbo watch`: the command, and its page in a browser."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

import rahbo
from browser import needs_chromium
from degenerate_runs import RUNS
from page_runs import blocked
from page_server import running
from rahbo.cli import main
from rahbo.pages import Live, Server, watch_site

HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>\u202e'
WIDTHS = (1280, 390)


# -- the command -----------------------------------------------------------------------------


def test_it_says_where_and_ends_with_an_interrupt(tmp_path):
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-c", "from rahbo.cli import main; main()", "watch", str(path)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            line = process.stdout.readline()
            url = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
            with urllib.request.urlopen(f"{url}run.json", timeout=30) as answer:
                assert b"There is no file" in answer.read()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sqlite:///study.db"], "optuna-dashboard"),
        (["run.jsonl", "--host", "256.0.0.1"], "Cannot listen"),
        (["run.jsonl", "--port", "65536"], "65536"),
        (["run.jsonl", "--alpha", "1", "--kappa", "1"], "Only one of --"),
    ],
)
def test_what_cannot_be_watched_is_said(arguments, problem):
    done = CliRunner().invoke(main, ["watch", *arguments])
    assert done.exit_code == 2
    assert problem in done.output


def test_it_opens_the_page_and_warns_beyond_the_loopback(tmp_path, opened):
    path = str(tmp_path / "run.jsonl")
    done = CliRunner().invoke(main, ["watch", path, "--open", "--host", "0.0.0.0"])
    assert done.exit_code == 0
    assert "can read the run. It is not encrypted." in done.output
    assert opened == re.findall(r"http://[\d.]+:\d+/\?token=\S{30,}", done.output)


# -- the page --------------------------------------------------------------------------------


@pytest.fixture
def watched(browser):
    """A function that serves the live page of a journal, and gives one that opens the page."""

    @contextmanager
    def served(path, **settings):
        live = Live(path, pause=0.5, **settings)
        live.start()
        with running(Server(watch_site(live))) as server:
            pages = []

            def opens(**window):
                pages.append(browser.page(server.address, **window))
                return pages[-1]

            yield opens
            # Nothing went wrong on the pages, and nothing left the machine.
            for page in pages:
                assert (page.errors, page.dialogs, page.too_wide() <= 0) == ([], [], True)
                assert page.requests
                assert all(r.startswith((server.address, "data:")) for r in page.requests)
                page.close()

    return served


@pytest.mark.slow
@needs_chromium
def test_a_run_of_a_thousand_evaluations_at_ten_values_a_second(watched, tmp_path, rng):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "kind": ["a", "b"]}, seed=0, repeats=3, journal=path)
    for _ in range(200):
        x = float(rng.uniform())
        values = -((x - 0.5) ** 2) + (0.02 + 0.2 * x) * rng.standard_normal(5)
        opt.tell({"x": x, "kind": str(rng.choice(["a", "b"]))}, values)
    with watched(path) as opens:
        pages = [opens(width=width) for width in WIDTHS]
        for page in pages:
            page.wait_until("document.querySelector('#noise .chosen')")
            assert "1,000 evaluations" in page.text()
            assert "probability no other setting is better" in page.text()
            assert page.evaluate("document.querySelector('#values .marks').getTotalLength()") == 0
        suggestion = opt.ask()
        late = []
        for i in range(30):
            opt.tell(suggestion, -0.1234 - 0.001 * i, repeat=i)
            time.sleep(0.1)
            late.append(1001 + i - pages[0].evaluate("shown.known"))
        # Values arrive every tenth of a second, so those of about the last second are missing.
        assert sorted(late)[len(late) // 2] <= 20
        for page in pages:
            page.wait_until("document.body.innerText.includes('-0.1524')")
            page.wait_until("document.body.innerText.includes('1,030 evaluations')")
            page.wait_until("shown.model.n_evaluations === 1030")
            page.screenshot(tmp_path / f"{page.width}.png")
    opt.close()


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_a_hostile_journal_is_text(watched, tmp_path, width):
    path = tmp_path / f"{width}.jsonl"
    choices = [HOSTILE, "</script><b>bold</b>", "javascript:alert(3)"]
    space = {HOSTILE: (0.0, 1.0), "__proto__": choices, "constructor": (0.0, 1.0)}
    opt = rahbo.Optimizer(space, seed=0, repeats=2, journal=path)
    for i in range(6):
        suggestion = opt.ask()
        if i % 3:
            opt.tell(suggestion, [float(i), i + 0.5])
        else:
            opt.tell_failure(suggestion, f"{HOSTILE}\n<svg onload=alert(4)>")
    opt.ask()
    opt.close()
    with watched(path) as opens:
        page = opens(width=width)
        page.wait_until("document.querySelector('#noise .chosen')")
        text = page.text()
        for part in ("<img src=x onerror", "<svg onload=alert(4)>", "__proto__", "\\u202e"):
            assert part in text
        assert (
            page.evaluate("document.querySelectorAll('img, b, main script, svg svg').length") == 0
        )
        page.screenshot(tmp_path / "page.png")


@pytest.mark.slow
@needs_chromium
def test_the_page_goes_on_whatever_becomes_of_the_journal(watched, tmp_path):
    path = tmp_path / "run.jsonl"
    with watched(path) as opens:
        page = opens()
        page.wait_until("document.body.innerText.includes('There is no file')")
        opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, repeats=2, journal=path)
        opt.tell(opt.ask(), [41.5, 42.5])
        opt.ask()
        opt.close()
        page.wait_until("document.body.innerText.includes('42.5')")
        page.wait_until("document.getElementById('problem').hidden")
        page.wait_until("document.querySelector('#noise .chosen')")
        assert "Being evaluated" in page.text()
        path.write_bytes(path.read_bytes() + b"garbled\nmore\n")
        page.wait_until("document.body.innerText.includes('is damaged')")
        path.rename(tmp_path / "run.1.jsonl")
        page.wait_until("document.body.innerText.includes('There is no file')")
        opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=1, repeats=2, journal=path)
        opt.tell(opt.ask(), [7.25, 8.25])
        opt.close()
        page.wait_until("document.body.innerText.includes('8.25')")
        assert "42.5" not in page.text()
        page.wait_until("document.getElementById('problem').hidden")
        assert page.errors == []
        limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        page.call("Network.emulateNetworkConditions", offline=True, **limits)
        page.wait_until("document.body.innerText.includes('rahbo watch no longer answers')")
        page.call("Network.emulateNetworkConditions", offline=False, **limits)
        page.wait_until("document.getElementById('gone').hidden")
        page.errors.clear()


MISPLACED = """[...document.querySelectorAll('.chart svg *')].filter(
  (e) => [...e.attributes].some((a) => /NaN|Infinity|undefined|null/.test(a.value))).length"""
# The texts of each chart, without the names of its axes.
LABELS = """[...document.querySelectorAll('.chart')].map(
  (c) => [...c.querySelectorAll('text')].slice(0, -2).map((t) => t.textContent))"""


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("name", RUNS)
def test_degenerate_runs_are_drawn_without_an_error(watched, tmp_path, name):
    path, run = tmp_path / "run.jsonl", RUNS[name]()
    settings = run.settings
    rahbo.Optimizer(
        settings.space.spec, seed=1, risk=settings.risk, trials=run.trials, journal=path,
        direction="maximize" if settings.sign > 0 else "minimize",
    ).close()  # fmt: skip
    with watched(path) as opens:
        page = opens()
        page.wait_until("document.querySelector('#noise .chosen')")
        assert page.evaluate("shown.known") == sum(
            len(t.values) + len(t.failures) for t in run.trials
        )
        assert page.evaluate(MISPLACED) == 0
        for labels in page.evaluate(LABELS):
            assert 3 <= len(labels) <= 22


@pytest.mark.slow
@needs_chromium
def test_a_chart_without_marks_says_so(watched, tmp_path):
    with watched(tmp_path / "run.jsonl") as opens:
        page = opens()
        page.wait_until("document.body.innerText.includes('There is no file')")
        assert not page.evaluate("document.querySelector('.charts').checkVisibility()")
        # A failure is shown, and the other charts say that they have nothing to show.
        run = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=tmp_path / "run.jsonl")
        run.tell_failure({"x": 0.5}, "beam trip")
        run.close()
        page.wait_until("document.querySelector('#values .lost')")
        for chart in ("best", "noise"):
            page.wait_until(
                f"document.getElementById('{chart}').textContent === 'Nothing to show yet.'"
            )


# The tables that must be scrolled to be read.
CUT = """[...document.querySelectorAll('.wide')].filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.firstElementChild.id)"""


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_limits_and_blocks_are_shown(watched, tmp_path, width):
    limited, blocks = tmp_path / "limited.jsonl", tmp_path / "blocks.jsonl"
    limits = {HOSTILE.replace("\u202e", ""): rahbo.AtMost(0.8)}
    (name,) = limits
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, constraints=limits, journal=limited)
    for i in range(8):
        opt.tell({"x": i / 7}, i / 7, outcomes={name: i / 7})
    opt.tell_failure({"x": 0.5}, "magnet out of range")
    opt.ask()
    opt.close()
    blocked(journal=blocks).close()
    with watched(limited) as opens:
        page = opens(width=width, dark=width == 390)
        page.wait_until("document.querySelector('#limits td')")
        page.wait_until("document.querySelector('#noise .unsure').getAttribute('d').length > 0")
        for text in (name, "at most 0.8 with probability 0.95", "not sure to keep its limits"):
            assert text in page.text()
        assert page.evaluate("document.getElementById('blocked').hidden")
        assert page.evaluate(CUT) == []
    with watched(blocks) as opens:
        page = opens(width=width)
        page.wait_until("document.querySelector('#blocks td')")
        page.evaluate("document.getElementById('blocked').open = true")
        for text in ("2 blocks differ", "monday", "less the effects of their blocks"):
            assert text in page.text()
        assert page.evaluate("document.getElementById('limited').hidden")
        assert page.evaluate(CUT) == []


PLACES = """[...document.querySelectorAll('#values .{}')].flatMap(
  (p) => p.getAttribute('d').split('M').slice(1).map((part) => parseFloat(part.split(' ')[1])))"""


@pytest.mark.slow
@needs_chromium
def test_an_outlier_and_failures_leave_room_for_the_values(watched, tmp_path, rng):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0), "n": rahbo.Int(1, 3)}, seed=0, journal=path)
    for i in range(24):
        point = {"x": i / 23, "n": 1 + i % 3}
        if i % 6 == 5:
            opt.tell_failure(point, "beam trip")
        else:
            opt.tell(point, [5e4, 5e4 + 1] if i == 13 else float(rng.standard_normal()))
    with watched(path, budget=60) as opens:
        page = opens(width=390, dark=True)
        page.wait_until("document.querySelector('#noise .chosen')")
        values, failures = (page.evaluate(PLACES.format(kind)) for kind in ("marks", "lost"))
        assert (len(values), len(failures)) == (19, 4)
        # The values fill the chart, and the failures lie below all of them.
        height = page.evaluate("document.getElementById('values').clientHeight")
        assert max(values) - min(values) > 0.4 * height
        assert min(failures) > max(values)
        legends = page.evaluate(
            "[...document.querySelectorAll('.legend')].map((l) => l.textContent)"
        )
        assert legends[2] == "valuefailed2 outside the range"
        assert "Outside the range: 50000 to 50001." in page.text()
        # The recommended point is that outlier. It has its numbers beside it.
        assert "outside" not in legends[1]
        label = "document.querySelector('#noise .chosen').nextElementSibling.textContent"
        assert re.match(r"mean (49|50)\d{3}", page.evaluate(label))
        assert "recommended" in legends[1]
        assert "Crosses in the strip below are failures." in page.text()
        assert "25 of 60 evaluations (4 failed)" in page.text()
        # Results are read without scrolling: the intervals end within the window.
        ends = (
            "[...document.querySelectorAll('#known td')]"
            ".map((c) => c.getBoundingClientRect().right)"
        )
        assert max(page.evaluate(ends)) <= 390
        assert page.evaluate("document.getElementById('known').compareDocumentPosition("
                             "document.getElementById('params')) & 4")  # fmt: skip
        # With more values the page knows how fast they come, and how long the rest will take.
        end = time.monotonic() + 60
        while " left" not in page.evaluate("document.getElementById('state').textContent"):
            assert time.monotonic() < end
            opt.tell({"x": 0.5, "n": 2}, float(rng.standard_normal()))
            time.sleep(0.1)
        assert re.search(r"; [\d.]+ a (second|minute), about \d+ (s|min) left", page.text())
    opt.close()


@pytest.mark.slow
@needs_chromium
def test_failures_alone_and_a_single_value_have_no_invented_ticks(watched, tmp_path):
    path = tmp_path / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=path)
    opt.tell_failure({"x": 0.5}, "beam trip")
    texts = "[...document.querySelectorAll('#values text')].map((t) => t.textContent)"
    with watched(path) as opens:
        page = opens()
        page.wait_until("document.querySelector('#values .lost')")
        assert page.evaluate(texts) == ["1", "evaluation", "value", "failed"]
        opt.tell({"x": 0.25}, 26.7386)
        page.wait_until("document.querySelector('#noise .chosen')")
        page.wait_until(f"{texts}.includes('2')")
        assert "3" not in page.evaluate(texts)
        assert "There is one evaluated point." in page.text()
    opt.close()
