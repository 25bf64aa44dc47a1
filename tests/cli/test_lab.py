"""`rahbo lab`: the command, and its page in a browser from an empty folder to a recommendation."""

import os
import re
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest
from click.testing import CliRunner

import rahbo
from browser import needs_chromium
from rahbo.cli import main
from rahbo.pages import LAB_PORT

WIDTHS = (1280, 390)
STUDY = """
minimize = true
kappa = 2
repeats = 2
seed = 3
outcome = "loss"
unit = "dB"
at-most = ["heat=5@0.9"]

[parameters]
power = "1:10:log"
gas = ["argon", "helium"]
"""


@contextmanager
def lab(place, *options):
    """A running command, and the address it printed."""
    command = [sys.executable, "-c", "from rahbo.cli import main; main()", "lab", str(place)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*command, "--no-browser", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.kill()


# -- the command -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "contents", "problem"),
    [
        ("missing.jsonl", None, "There is no file or folder"),
        ("absent/missing", None, "cannot be made: No such file or directory"),
        ("s.toml", "maximize = true", "[parameters]"),
        ("s.toml", "[parameters]\nx = '0:1:float'", "maximize = true or minimize = true"),
        ("s.toml", STUDY + "\n[oops]", "is not an option"),
        ("s.toml", "alpha = 1\n" + STUDY, "Only one of --alpha and --kappa"),
        ("s.toml", STUDY.replace("kappa = 2", "kappa = 'x'"), "Invalid value for '--kappa'"),
        ("s.toml", STUDY.replace("seed = 3", "seed = 1.7"), "'--seed': '1.7' is not a valid int"),
        ("s.toml", STUDY.replace("seed = 3", "seed = -1"), "'--seed': -1 is not in the range"),
        ("run.jsonl", "no journal\n", "is not a rahbo journal"),
    ],
)
def test_what_cannot_be_opened_is_said(tmp_path, file, contents, problem):
    if contents is not None:
        (tmp_path / file).write_text(contents)
    done = CliRunner().invoke(main, ["lab", str(tmp_path / file), "--no-browser"])
    assert done.exit_code == 2
    assert problem in done.output


def invoked(*arguments):
    """What a command prints that ends well."""
    done = CliRunner().invoke(main, ["lab", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@contextmanager
def begun(file, contents):
    """The run of a study that a file describes, begun by the command and continued in Python."""
    file.write_text(contents)
    output = invoked(file, "--port", "0")
    run = rahbo.Optimizer.resume(file.with_suffix(".jsonl"))
    yield run, output
    run.close()


def test_a_file_describes_a_study_that_everything_else_continues(tmp_path, opened):
    file = tmp_path / "laser.toml"
    with begun(file, "evaluations = 9\ncommand = ['x']\n" + STUDY) as (run, output):
        assert opened == re.findall(r"http://\S+", output)
        assert "ignores command, evaluations" in output
        settings = run.settings
        assert (settings.direction, settings.seed) == ("minimize", 3)
        assert settings.risk == rahbo.MeanStd(2.0)
        assert settings.constraints == {"heat": rahbo.AtMost(5.0, 0.9)}
        # A second lab is refused while another process, here this one, holds the journal.
        refused = CliRunner().invoke(main, ["lab", str(file), "--no-browser"])
        assert refused.exit_code == 2
        assert "is being written by another process" in refused.output
    invoked(tmp_path / "laser.jsonl")


@pytest.mark.usefixtures("opened")
def test_a_folder_that_does_not_exist_is_made(tmp_path):
    new = tmp_path / "my studies"
    assert "my studies is new" in invoked(new, "--port", "0")
    assert new.is_dir()


@pytest.mark.usefixtures("opened")
def test_settings_known_to_be_safe_are_tried_first(tmp_path):
    with begun(tmp_path / "s.toml", "safe = ['power=2,gas=argon']\n" + STUDY) as (run, _):
        assert run.settings.safe
        (trial,) = run.trials
        assert (trial.params, trial.n_requested) == ({"power": 2.0, "gas": "argon"}, 3)


@pytest.mark.usefixtures("opened")
def test_a_file_for_tune_may_name_settings_to_try_first(tmp_path):
    contents = "seconds = 60\ntry-first = 'power=2,gas=argon'\n" + STUDY
    with begun(tmp_path / "s.toml", contents) as (run, output):
        assert "ignores seconds" in output
        assert run.ask().params == {"power": 2.0, "gas": "argon"}


def test_beyond_the_loopback_the_address_has_a_token(tmp_path, opened):
    output = invoked(tmp_path, "--host", "0.0.0.0")
    assert opened == re.findall(r"http://[\d.]+:\d+/\?token=\S{30,}", output)
    assert "can record values. It is not encrypted." in output


def test_the_usual_port_is_taken_only_if_it_is_free(tmp_path, opened):
    with socket.socket() as taken:
        # If another program has it, it is taken all the more.
        with suppress(OSError):
            taken.bind(("127.0.0.1", LAB_PORT))
            taken.listen()
        invoked(tmp_path)
        assert not opened[0].endswith(f":{LAB_PORT}/")
        refused = CliRunner().invoke(main, ["lab", str(tmp_path), "--port", str(LAB_PORT)])
        assert (refused.exit_code, "Choose another port" in refused.output) == (2, True)


# -- the page --------------------------------------------------------------------------------


def write(page, label, text):
    """Type into the field with a label, found as a screen reader finds it."""
    page.evaluate(
        f"""(() => {{
        const labels = [...document.querySelectorAll('label')].filter((l) => l.checkVisibility());
        const label = labels.find((l) => l.textContent === {label!r})
          ?? labels.find((l) => l.textContent.startsWith({label!r}));
        const input = document.getElementById(label.htmlFor);
        input.focus();
        if (input.tagName === 'SELECT') input.value = {text!r};
        else input.value = '';
        input.dispatchEvent(new Event('change'));
        }})()"""
    )
    if page.evaluate("document.activeElement.tagName") == "INPUT":
        page.call("Input.insertText", text=text)


def press(page, text):
    """Press the button with a text, once it can be pressed."""
    found = f"""[...document.querySelectorAll('button')].find(
      (b) => b.textContent === {text!r} && b.checkVisibility() && !b.disabled)"""
    page.wait_until(found)
    page.evaluate(f"{found}.click()")


def enter(page):
    for kind in ("rawKeyDown", "char", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
                  windowsVirtualKeyCode=13)  # fmt: skip


def says(page, text):
    page.wait_until(f"document.body.innerText.includes({text!r})")


def told(path):
    """All values in a journal, by suggestion and repeat."""
    return {(t.id, i): v for t in rahbo.journal.read(path)[1] for i, v in t.values.items()}


VALUE = "document.getElementById('lab-value')"
READY = f"{VALUE} && {VALUE}.checkVisibility() && !document.querySelector('[aria-busy]')"
HIDDEN_LABELS = """[...document.querySelectorAll('input, select, iframe')].filter(
  (e) => !e.labels?.length && !e.getAttribute('aria-label') && !e.title).map((e) => e.id)"""


def begin(page):
    """Fill in the form of a new study."""
    write(page, "Name of the study", "laser 1")
    write(page, "Name", "power")
    write(page, "From", "1,5")
    write(page, "To", "1,000")
    press(page, "Add a parameter")
    page.evaluate("document.querySelector('#parameters .row:last-child input').focus()")
    page.call("Input.insertText", text="gas")
    kind = "document.querySelector('#parameters .row:last-child select')"
    page.evaluate(f"{kind}.value = 'choice'; {kind}.dispatchEvent(new Event('change'))")
    write(page, "Choices", "argon, helium")
    write(page, "Outcome", "yield")
    write(page, "Unit", "mJ")
    press(page, "Begin")
    says(page, "1,000 is 1. If that is right, press Begin again.")
    write(page, "To", "10")
    press(page, "Begin")
    says(page, "Say whether larger or smaller values are better.")
    write(page, "Better is", "maximize")
    write(page, "Measure each setting", "fixed")
    write(page, "How often", "2")


def record(page, value):
    """Type a value, press Enter, and wait until it is recorded."""
    page.wait_until(READY)
    write(page, "yield (mJ)", value)
    enter(page)
    says(page, f"Recorded {value.replace(',', '.')} as value")


@pytest.mark.slow
@needs_chromium
def test_from_an_empty_folder_to_a_recommendation(browser, tmp_path):
    path, shots = tmp_path / "laser 1.jsonl", tmp_path
    with lab(tmp_path, "--port", "0") as (process, url):
        port = url.split(":")[-1].strip("/")
        page = browser.page(url)
        says(page, "Begin a study")
        begin(page)
        assert page.evaluate(HIDDEN_LABELS) == []
        page.screenshot(shots / "form.png")
        page.resize(390, 800)
        assert page.too_wide() <= 0
        page.screenshot(shots / "narrow form.png")
        page.resize(1280, 900)
        press(page, "Begin")
        page.wait_until(READY)
        assert page.evaluate("location.pathname") == "/study/laser%201/"
        # Not a number, then a decimal comma.
        write(page, "yield (mJ)", "12 mJ")
        enter(page)
        says(page, "without a unit")
        page.wait_until(READY)
        # What is typed while this is being recorded stays, for the next value.
        write(page, "yield (mJ)", "12,5")
        submit = "document.getElementById('lab-form').requestSubmit()"
        page.evaluate(f"{submit}; {VALUE}.value = '12.6'")
        says(page, "Recorded 12.5 as value")
        says(page, "Value 2 of 2. Recorded: 12.5.")
        page.wait_until(f"{READY} && {VALUE}.value === '12.6'")
        # A second tab tells the same repeat.
        tab = browser.page(page.evaluate("location.href"), width=390, dark=True)
        tab.wait_until(READY)
        page.wait_until(READY)
        write(page, "yield (mJ)", "12.75")
        write(tab, "yield (mJ)", "99")
        enter(page)
        says(page, "Recorded 12.75 as value 2")
        tab.evaluate("document.getElementById('lab-record').click()")
        says(tab, "is already recorded as 12.75")
        assert told(path) == {(0, 0): 12.5, (0, 1): 12.75}
        # A tab that sees it first says what became of the typed value.
        other = browser.page(page.evaluate("location.href"), width=390)
        other.wait_until(READY)
        write(other, "yield (mJ)", "77")
        # What is typed stays through a reload, and through the end of the server.
        page.wait_until(f"{READY} && {VALUE}.value === ''")
        write(page, "yield (mJ)", "13.25")
        page.evaluate("window.before = true; location.reload()")
        page.wait_until(f"!window.before && {READY} && {VALUE}.value === '13.25'")
        process.kill()
        process.wait()
        # The page may have noticed already, and then the button does nothing.
        page.evaluate("document.getElementById('lab-record').click()")
        says(page, "no longer answers")
        page.screenshot(shots / "gone.png")
    assert page.evaluate(f"{VALUE}.value") == "13.25"
    page.errors.clear()
    with lab(tmp_path, "--port", port):
        page.wait_until("document.getElementById('gone').hidden")
        press(page, "Record")
        says(page, "Recorded 13.25 as value 1 of suggestion 1.")
        says(other, "The 77 that you typed here was not recorded.")
        other.close()
        # A failure, a setting of one's own, and one more value than was asked for.
        page.wait_until(READY)
        press(page, "It failed")
        write(page, "Why did it fail?", "beam trip")
        enter(page)
        says(page, "failed: beam trip")
        press(page, "Try a setting of your own")
        write(page, "power (", "4")
        write(page, "How often to measure it", "1")
        press(page, "Use this setting")
        says(page, "your own setting")
        write(page, "Note (optional)", "door open")
        record(page, "14.5")
        says(page, "door open")
        press(page, "One more value")
        says(page, "one more than was asked for")
        press(page, "Name its block")
        write(page, "Block (optional)", "tuesday")
        record(page, "14")
        for value in ("13", "12", "14.25"):
            page.evaluate("document.getElementById('lab-said').textContent = ''")
            record(page, value)
        page.wait_until("document.querySelector('#noise .chosen')")
        says(page, "pessimistic value")
        page.evaluate("document.getElementById('lab-report').open = true")
        frame = "document.getElementById('lab-frame').contentDocument"
        page.wait_until(f"{frame}?.documentElement?.dataset.drawn === 'yes'")
        assert "Noise map" in page.evaluate(f"{frame}.body.innerText")
        assert page.evaluate(HIDDEN_LABELS) == []
        tab.wait_until("document.querySelector('#noise .chosen')")
        for one in (page, tab):
            one.evaluate("scrollTo(0, 0)")
            one.screenshot(shots / f"{one.width}.png")
            assert one.too_wide() <= 0
        assert [e for e in page.errors + tab.errors if "ERR_CONNECTION" not in e
                and "409" not in e and "422" not in e] == []  # fmt: skip
        press(page, "Close the study")
        says(page, "This study is closed here")
        run = rahbo.Optimizer.resume(path)
    tab.close()
    page.close()
    values = [v for t in run.trials for v in t.values.values()]
    assert sorted(values) == [12.0, 12.5, 12.75, 13.0, 13.25, 14.0, 14.25, 14.5]
    assert run.recommend().params.keys() == {"power", "gas"}
    assert {row["value"] for row in run.rows() if row["block"] == "tuesday"} >= {14.0}
    run.close()


@pytest.mark.slow
@needs_chromium
def test_a_limited_outcome_is_asked_for_and_messages_are_of_what_was_done(browser, tmp_path):
    file, path = tmp_path / "s.toml", tmp_path / "s.jsonl"
    file.write_text("blocks = ['monday', 'tuesday']\n" + STUDY)
    with lab(file, "--port", "0") as (_, url):
        page = browser.page(url, width=390)

        def type_in(value, heat, message):
            page.wait_until(READY)
            write(page, "loss (dB)", value)
            write(page, "heat", heat)
            page.evaluate("document.getElementById('lab-record').click()")
            says(page, message)

        # An outcome cannot be added to a recorded value, so the page asks before it is left out.
        type_in("2,5", "", "You typed no heat.")
        type_in("2,5", "1,250", "1,250 is 1.25. If that is right, press Record again.")
        assert told(path) == {}
        type_in("2,5", "4,1", "Recorded 2.5 as value 1 of suggestion 0.")
        type_in("2,6", "4,2", "Recorded 2.6 as value 2 of suggestion 0.")
        page.wait_until(READY)
        press(page, "Measure the best ones again")
        says(page, "There is nothing to measure again now")
        press(page, "Try a setting of your own")
        write(page, "How often to measure it", "1")
        press(page, "Use this setting")
        says(page, "your own setting")
        write(page, "Block", "monday")
        type_in("2,1", "4,0", "Recorded 2.1 as value 1 of suggestion 2.")
        page.wait_until(READY)
        # The card turns to the setting that is to be measured again, and then says so.
        press(page, "Measure the best ones again")
        says(page, "measured again, before it is used")
        assert "Recorded 2.1 as value" not in page.text()
        # A note leads back to its value.
        press(page, "Note")
        page.wait_until("document.activeElement.id === 'lab-note-text'")
        page.call("Input.insertText", text="lens cleaned")
        press(page, "Keep the note")
        says(page, "lens cleaned")
        assert page.evaluate("scrollY + innerHeight < document.documentElement.scrollHeight / 2")
        press(page, "Close the study")
        says(page, "The study is closed.")
        press(page, "Open it again")
        page.wait_until(READY)
        assert "The study is closed." not in page.text()
        assert page.errors == []
        page.close()
    assert rahbo.journal.read(path)[0]["blocks"] == ["monday", "tuesday"]
