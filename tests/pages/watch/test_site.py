import json

import pytest

import rahbo
from rahbo.pages import Live, watch_site


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=path)
    opt.tell({"x": 0.5}, [1.0, 2.0])
    opt.close()
    return path


@pytest.fixture(scope="module")
def site(journal):
    return watch_site(Live(journal))


def test_the_page_and_all_that_it_asks_for_are_served_and_nothing_can_be_changed(site):
    assert site.change is None
    page = site.read("/", {}).body.decode()
    files = [part.split('"')[1] for part in page.split() if part.startswith(("href=", "src="))]
    files = [name for name in files if not name.startswith("data:")]
    assert len(files) == 5
    for name in (*files, "run.json", "model.json"):
        assert site.read(f"/{name}", {}).body


@pytest.mark.parametrize(
    "path",
    ["/../run.jsonl", "/..%2f..%2fetc/passwd", "/%2e%2e/live.py", "//etc/passwd", "/live.py", "*",
     "/watch.js/../live.py", "/style.css%00", "/run.jsonl", "http://127.0.0.1/", "/watch.JS", ""],
)  # fmt: skip
def test_only_the_named_pages_are_there(site, path):
    assert site.read(path, {}) is None


def test_only_new_values_come_and_the_journal_is_left_alone(site, journal):
    before = journal.stat()
    run = json.loads(site.read("/run.json", {}).body)
    assert run["values"] == [[0, 0, 1.0], [0, 1, 2.0]]
    query = {"epoch": [str(run["epoch"])], "known": ["1"]}
    newer = json.loads(site.read("/run.json", query).body)
    assert (newer["first"], newer["values"]) == (1, [[0, 1, 2.0]])
    for odd in ("x", "-1", "9" * 100, "", "٣"):
        assert json.loads(site.read("/run.json", {**query, "known": [odd]}).body)["first"] == 0
    after = journal.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
