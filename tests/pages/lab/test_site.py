import json

import pytest

import rahbo
from processes_left import wait_for
from rahbo.errors import JournalError, RahboError, SettingsError
from rahbo.pages import Spec, Studies, lab_site
from rahbo.pages.answers import RefusedError

TELL = {"suggestion": 0, "repeat": 0, "value": "1.5"}
FORM = {
    "name": "two", "direction": "minimize", "risk": {"kind": "neutral"}, "repeats": "1",
    "parameters": [{"name": "x", "kind": "real", "low": "0", "high": "1"}],
}  # fmt: skip


@pytest.fixture
def studies(tmp_path):
    found = Studies(tmp_path)
    found.begin(Spec("a b", {"x": rahbo.Float(0.0, 1.0)}, {"seed": 0, "repeats": 2}))
    wait_for(lambda: not found.study("a b").state()["asking"])
    yield found
    found.close_all()


@pytest.fixture
def site(studies):
    return lab_site(studies)


def record_of(answer):
    return answer.status, json.loads(answer.body)


def test_a_value_is_told_once(site, studies):
    assert record_of(site.change("/study/a%20b/tell", TELL)) == (200, {"value": 1.5})
    status, record = record_of(site.change("/study/a%20b/tell", TELL))
    assert status == 409
    assert "already recorded as 1.5" in record["error"]
    (told,) = studies.study("a b").state()["told"]
    assert [m["value"] for m in told["made"]] == [1.5]


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("tell", {"value": "nan"}),
        ("tell", {"suggestion": 9}),
        ("tell", {"suggestion": "0"}),
        ("tell", {"suggestion": -1}),
        ("tell", {"repeat": 7}),
        ("tell", {"repeat": None}),
        ("tell", {"outcomes": []}),
        ("tell", {"note": 3}),
        ("tell", {"note": "x" * 2001}),
        ("tell", {"block": 3}),
        ("fail", {"reason": ["x"]}),
        ("skip", {"suggestion": 4}),
        ("note", {"suggestion": 0}),
        ("own", {"params": [], "known": [0]}),
        ("own", {"params": {"x": "7"}, "known": [0]}),
        ("own", {"params": {"x": "0.5"}, "known": [0], "instead": 9}),
        ("ask", {"known": "0"}),
        ("confirm", {"known": [0]}),
    ],
)  # fmt: skip
def test_what_makes_no_sense_changes_nothing(site, studies, action, change):
    before = studies.study("a b").state()
    with pytest.raises(RahboError, match=r"\.$"):
        site.change(f"/study/a%20b/{action}", {**TELL, **change})
    assert studies.study("a b").state() == before


def test_each_change_of_a_page_reaches_the_study(site, studies):
    study = studies.study("a b")

    def changed(action, **record):
        status, answer = record_of(site.change(f"/study/a%20b/{action}", record))
        assert status == 200
        wait_for(lambda: not study.state()["asking"])
        return answer, study.state()["known"]

    first = {"suggestion": 0, "repeat": 0}
    assert changed("tell", **first, value="1.5", note="good") == ({"value": 1.5}, [0])
    assert changed("note", **first, note="dusk") == ({}, [0])
    # Nobody has to say why.
    assert changed("fail", suggestion=0, repeat=1) == ({}, [1])
    assert changed("ask", known=[1]) == ({}, [1, 2])
    assert changed("skip", suggestion=1) == ({}, [2])
    assert changed("own", params={"x": "0.25"}, known=[2]) == ({"suggestion": 3}, [2, 3])
    again = {"params": {"x": "0.5"}, "repeats": 3, "known": [2, 3], "instead": 2}
    assert changed("own", **again) == ({"suggestion": 4}, [3, 4])
    assert changed("note", suggestion=4, note="dawn") == ({}, [3, 4])
    assert changed("confirm", known=[3, 4]) == ({}, [3, 4, 5])
    state = study.state()
    own = [(one["asked"], one["notes"]) for one in state["open"] if one["source"] == "user"]
    assert own == [(1, []), (3, ["dawn"])]
    assert state["open"][-1]["source"] == "confirm"
    (told,) = (one for one in state["told"] if one["id"] == 0)
    assert [one["notes"] for one in told["made"]] == [["good", "dusk"], []]
    corrected = changed("tell", suggestion=0, repeat=1, value="2", corrects=True)
    assert corrected[0] == {"value": 2.0}


def test_other_changes_and_studies_do_not_exist(site):
    for path in ("/study/a%20b/", "/study/a%20b/drop", "/study/a%20b/__class__"):
        assert site.change(path, TELL) is None
    for path in ("/", "/tell", "/study/c/tell", "/study/../tell", "/study/a%20b"):
        with pytest.raises(RefusedError) as refused:
            site.change(path, TELL)
        assert refused.value.status == 404


def test_reading_changes_nothing(site, tmp_path):
    before = (tmp_path / "a b.jsonl").read_bytes()
    for path, kind in (
        ("/", "text/html"), ("/studies.json", "application/json"), ("/lab.css", "text/css"),
        ("/study/a%20b/", "text/html"), ("/lab.js", "text/javascript"),
        ("/study/a%20b/lab.json", "application/json"),
        ("/study/a%20b/run.json", "application/json"), ("/study/a%20b/model.json", "application/"),
    ):  # fmt: skip
        assert site.read(path, {}).kind.startswith(kind)
    for path in (
        "/study/a%20b",
        "/study/c/",
        "/study/..%2f/",
        "/lab.py",
        "/study/a%20b/report.html",
    ):
        with pytest.raises(RefusedError) as refused:
            site.read(path, {})
        assert refused.value.status == (409 if "report" in path else 404)
    assert site.read("/study/a%20b/tell", {}) is None
    assert (tmp_path / "a b.jsonl").read_bytes() == before


def test_a_study_is_created_closed_and_opened(site, tmp_path):
    assert record_of(site.change("/create", FORM)) == (200, {"study": "two"})
    for name in ("two", "../x"):
        with pytest.raises(SettingsError):
            site.change("/create", {**FORM, "name": name})
    assert record_of(site.change("/study/two/close", {})) == (200, {})
    assert json.loads(site.read("/study/two/lab.json", {}).body) == {"closed": True}
    assert site.change("/study/two/tell", TELL).status == 409
    run = rahbo.Optimizer.resume(tmp_path / "two.jsonl")
    with pytest.raises(JournalError, match="being written"):
        site.change("/study/two/open", {})
    run.close()
    assert site.change("/study/two/open", {}).status == 200
    assert json.loads(site.read("/study/two/lab.json", {}).body)["name"] == "two"


@pytest.mark.slow
def test_only_the_report_may_be_framed_and_only_by_us(site):
    site.change("/study/a%20b/tell", TELL)
    report = site.read("/study/a%20b/report.html", {})
    assert report.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert report.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert b"script-src 'sha256-" in report.body
    assert site.read("/study/a%20b/", {}).headers == {}


def test_one_study_is_the_first_page(tmp_path):
    rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=tmp_path / "a b.jsonl").close()
    first = lab_site(Studies(tmp_path, tmp_path / "a b.jsonl")).read("/", {})
    assert (first.status, first.headers["Location"]) == (303, "/study/a%20b/")
