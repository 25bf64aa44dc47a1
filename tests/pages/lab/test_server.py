import http.client
import json
import threading
from contextlib import contextmanager

import pytest

import rahbo
from processes_left import wait_for
from rahbo.pages.lab.server import MOST_BYTES, LabServer
from rahbo.pages.lab.spec import Spec
from rahbo.pages.lab.studies import Studies

TELL = {"suggestion": 0, "repeat": 0, "value": "1.5"}
FORM = {
    "name": "two", "direction": "minimize", "risk": {"kind": "neutral"}, "repeats": "1",
    "parameters": [{"name": "x", "kind": "real", "low": "0", "high": "1"}],
}  # fmt: skip


@contextmanager
def running(studies, host="127.0.0.1"):
    with LabServer(studies, host) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield served
        finally:
            served.shutdown()
            thread.join()
            studies.close_all()


@pytest.fixture
def server(tmp_path):
    studies = Studies(tmp_path)
    studies.begin(Spec("a b", {"x": rahbo.Float(0.0, 1.0)}, {"seed": 0, "repeats": 2}))
    wait_for(lambda: not studies.study("a b").state()["asking"])
    with running(studies) as served:
        yield served


def send(server, path, body, *, drop=(), **headers):
    """A change as the page sends it, with some headers changed or left out."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {
        "Host": f"127.0.0.1:{server.server_port}",
        "Origin": f"http://127.0.0.1:{server.server_port}",
        "X-Rahbo-Token": server.token,
        "Content-Type": "application/json",
        "Content-Length": str(len(raw)),
    }
    sent = {name: v for name, v in {**usual, **headers}.items() if name not in drop}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders(raw)
    answer = connection.getresponse()
    found = answer.read().decode()
    connection.close()
    return answer.status, found


def look(server, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


def told(server):
    return server.studies.study("a b").state()["told"]


def test_a_value_is_told_once(server):
    assert send(server, "/study/a%20b/tell", TELL) == (200, '{"value":1.5}')
    status, body = send(server, "/study/a%20b/tell", TELL)
    assert status == 409
    assert "already recorded as 1.5" in json.loads(body)["error"]
    assert [m["value"] for m in told(server)[0]["made"]] == [1.5]


@pytest.mark.parametrize(
    ("drop", "headers"),
    [
        (["X-Rahbo-Token"], {}),
        ([], {"X-Rahbo-Token": "guess"}),
        ([], {"X-Rahbo-Token": "\xe9"}),
        (["Origin"], {}),
        ([], {"Origin": "http://evil.example"}),
        ([], {"Origin": "null"}),
        ([], {"Origin": "http://127.0.0.1:1"}),
        ([], {"Origin": "https://127.0.0.1"}),
        ([], {"Host": "evil.example", "Origin": "http://evil.example"}),
        ([], {"Host": "192.168.0.7", "Origin": "http://192.168.0.7"}),
        (["Host"], {}),
        ([], {"Sec-Fetch-Site": "cross-site"}),
        ([], {"Sec-Fetch-Site": "same-site"}),
    ],
)
def test_a_change_that_no_page_of_ours_sent_is_refused(server, drop, headers):
    for path, body in (("/study/a%20b/tell", TELL), ("/create", FORM)):
        status, text = send(server, path, body, drop=drop, **headers)
        assert status == 403
        assert server.token not in text
    assert told(server) == []
    assert list(server.studies.paths()) == ["a b"]


def test_a_tunnel_has_another_port(server):
    headers = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}
    assert send(server, "/study/a%20b/tell", TELL, **headers)[0] == 200


@pytest.mark.parametrize(
    ("body", "headers", "drop", "status"),
    [
        (b"{}", {"Content-Type": "text/plain"}, (), 415),
        (b"{}", {"Content-Type": "application/x-www-form-urlencoded"}, (), 415),
        (b"{}", {}, ("Content-Type",), 415),
        (b"", {}, ("Content-Length",), 411),
        (b"", {"Content-Length": "-1"}, (), 411),
        (b"", {"Content-Length": "1" * 30}, (), 413),
        (b"0" * (MOST_BYTES + 1), {}, (), 413),
        (b"{}", {"Transfer-Encoding": "chunked"}, (), 411),
        (b"{", {}, (), 400),
        (b"\xff", {}, (), 400),
        (b"[" * 100_000, {}, (), 400),
        (b'{"value":NaN}', {}, (), 400),
        (b'{"value":Infinity}', {}, (), 400),
        (b"[]", {}, (), 400),
        (b"1", {}, (), 400),
    ],
)
def test_malformed_bodies_are_refused(server, body, headers, drop, status):
    assert send(server, "/study/a%20b/tell", body, drop=drop, **headers)[0] == status
    assert told(server) == []


@pytest.mark.parametrize(
    ("action", "change"),
    [
        *(("tell", {"value": value}) for value in ("nan", "abc", "1e400", 1e300, "", None, [1])),
        ("tell", {"suggestion": 9}),
        ("tell", {"suggestion": "0"}),
        ("tell", {"suggestion": -1}),
        ("tell", {"repeat": 7}),
        ("tell", {"repeat": None}),
        ("tell", {"outcomes": []}),
        ("tell", {"note": 3}),
        ("tell", {"note": "x" * 2001}),
        ("fail", {"reason": ["x"]}),
        ("skip", {"suggestion": 4}),
        ("note", {"suggestion": 0}),
        ("own", {"params": [], "known": [0]}),
        ("own", {"params": {"x": "7"}, "known": [0]}),
        ("own", {"params": {"x": "0.5"}, "known": [0], "instead": 9}),
        ("ask", {"known": "0"}),
        ("confirm", {"known": [0]}),
    ],
)
def test_what_makes_no_sense_changes_nothing(server, action, change):
    before = server.studies.study("a b").state()
    status, body = send(server, f"/study/a%20b/{action}", {**TELL, **change})
    assert status == 422
    assert json.loads(body)["error"].endswith(".")
    assert server.studies.study("a b").state() == before


@pytest.mark.parametrize("path", ["/", "/tell", "/study/a%20b/", "/study/c/tell", "/study/../tell",
                                  "/study/a%20b/drop", "/study/a%20b/__class__"])  # fmt: skip
def test_other_changes_do_not_exist(server, path):
    assert send(server, path, TELL)[0] == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_but_reading_and_posting(server, method):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, "/study/a%20b/tell")
    assert connection.getresponse().status == 405
    connection.close()


def test_reading_changes_nothing(server, tmp_path):
    before = (tmp_path / "a b.jsonl").read_bytes()
    for path, kind in (
        ("/", "text/html"), ("/studies.json", "application/json"), ("/lab.css", "text/css"),
        ("/token.json", "application/json"), ("/study/a%20b/", "text/html"),
        ("/study/a%20b/lab.js", "text/javascript"), ("/study/a%20b/lab.json", "application/json"),
        ("/study/a%20b/run.json", "application/json"), ("/study/a%20b/model.json", "application/"),
    ):  # fmt: skip
        answer = look(server, path)
        assert answer.status == 200
        assert answer.getheader("Content-Type").startswith(kind)
    for path in ("/study/a%20b", "/study/c/", "/study/..%2f/", "/study/a%20b/tell", "/lab.py"):
        assert look(server, path).status == 404
    assert look(server, "/study/a%20b/report.html").status == 409
    assert look(server, "/token.json", Host="evil.example").status == 403
    assert (tmp_path / "a b.jsonl").read_bytes() == before


def test_a_study_is_created_closed_and_opened(server, tmp_path):
    assert send(server, "/create", FORM) == (200, '{"study":"two"}')
    assert send(server, "/create", FORM)[0] == 422
    assert send(server, "/create", {**FORM, "name": "../x"})[0] == 422
    assert send(server, "/study/two/close", {})[0] == 200
    assert json.loads(look(server, "/study/two/lab.json").body) == {"closed": True}
    assert send(server, "/study/two/tell", TELL)[0] == 409
    run = rahbo.Optimizer.resume(tmp_path / "two.jsonl")
    status, body = send(server, "/study/two/open", {})
    assert (status, "being written" in body) == (422, True)
    run.close()
    assert send(server, "/study/two/open", {})[0] == 200
    assert json.loads(look(server, "/study/two/lab.json").body)["name"] == "two"


@pytest.mark.slow
def test_only_the_report_may_be_framed_and_only_by_us(server):
    send(server, "/study/a%20b/tell", TELL)
    report = look(server, "/study/a%20b/report.html")
    assert report.getheader("Content-Security-Policy") == "frame-ancestors 'self'"
    assert b"script-src 'sha256-" in report.body
    page = look(server, "/study/a%20b/")
    assert "frame-ancestors 'none'" in page.getheader("Content-Security-Policy")
    assert page.getheader("X-Frame-Options") == "DENY"


def test_beyond_the_loopback_everything_needs_the_token(tmp_path):
    studies = Studies(tmp_path)
    with running(studies, "0.0.0.0") as server:
        for path in ("/", "/lab.js", "/studies.json", "/token.json", "/?token=guess", "/?token="):
            assert look(server, path).status == 403
        for cookie in ("x", f"{server.cookie}=guess", f"rahbo-lab-1={server.token}", "a=b; ="):
            assert look(server, "/", Cookie=cookie).status == 403
        assert send(server, "/create", FORM)[0] == 403
        assert server.address.endswith(f":{server.server_port}/?token={server.token}")
        answer = look(server, f"/?token={server.token}")
        assert (answer.status, answer.getheader("Location")) == (303, "/")
        cookie = answer.getheader("Set-Cookie")
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        kept = cookie.partition(";")[0]
        assert look(server, "/", Cookie=f"other=1; {kept}").status == 200
        refused = look(server, "/", Cookie=kept, Host="evil.example")
        assert (refused.status, "--host NAME" in refused.reason) == (403, True)
        assert send(server, "/create", FORM, Cookie=kept, drop=["X-Rahbo-Token"])[0] == 403
        assert send(server, "/create", FORM, Cookie=kept)[0] == 200
        for path in ("//evil.example/", "/\\evil.example/", "/study/a/"):
            assert look(server, f"{path}?token={server.token}").getheader("Location") == "/"


def test_one_study_is_the_first_page(tmp_path):
    rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=tmp_path / "a b.jsonl").close()
    with running(Studies(tmp_path, tmp_path / "a b.jsonl")) as server:
        assert look(server).getheader("Location") == "/study/a%20b/"
        assert server.address == server.url


def test_the_block_of_a_value_must_be_a_text(server):
    code, said = send(server, "/study/a%20b/tell", {**TELL, "block": 3})[:2]
    assert (code, "block" in str(said)) == (422, True)
