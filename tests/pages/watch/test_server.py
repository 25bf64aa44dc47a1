import http.client
import json
import socket
import threading

import pytest

import rahbo
from rahbo.errors import SettingsError
from rahbo.pages import Live, Server


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=path)
    opt.tell({"x": 0.5}, [1.0, 2.0])
    opt.close()
    return path


@pytest.fixture(scope="module")
def server(journal):
    with Server(Live(journal)) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def ask(server, path="/", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/watch.js", "text/javascript; charset=utf-8"),
        ("/watch.css", "text/css; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/run.json", "application/json"),
        ("/run.json?epoch=1&known=1", "application/json"),
        ("/run.json?epoch=x&known=-1&known=9" + "9" * 100, "application/json"),
        ("/model.json", "application/json"),
    ],
)
def test_what_is_served(server, path, kind):
    answer = ask(server, path)
    assert (answer.status, answer.getheader("Content-Type")) == (200, kind)
    assert len(answer.body) == int(answer.getheader("Content-Length"))
    head = ask(server, path, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.getheader("ETag") == answer.getheader("ETag")
    again = ask(server, path, **{"If-None-Match": answer.getheader("ETag")})
    assert (again.status, again.body) == (304, b"")


def test_only_new_values_come(server):
    run = json.loads(ask(server, "/run.json").body)
    assert run["values"] == [[0, 0, 1.0], [0, 1, 2.0]]
    newer = json.loads(ask(server, f"/run.json?epoch={run['epoch']}&known=1").body)
    assert (newer["first"], newer["values"]) == (1, [[0, 1, 2.0]])


@pytest.mark.parametrize("path", ["/", "/run.json", "/nothing"])
def test_every_answer_is_protected(server, path):
    answer = ask(server, path)
    policy = answer.getheader("Content-Security-Policy").split("; ")
    for rule in (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "frame-ancestors 'none'",
    ):  # fmt: skip
        assert rule in policy
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "no-referrer"
    assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert answer.getheader("Server").split() == ["rahbo"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example",
             "user@evil.example", "192.168.0.7", "", "[", "[::1", "localhost, evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused(server, host):
    answer = ask(server, "/run.json", Host=host)
    assert answer.status == 403
    assert b"values" not in answer.body


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000"])
def test_our_own_host_is_served_through_tunnels_too(server, host):
    assert ask(server, "/run.json", Host=host).status == 200


@pytest.mark.parametrize(
    "lines", [b"", b"Host: localhost\r\nHost: evil.example\r\n", b"host: evil.example\r\n"]
)
def test_no_host_and_two_hosts_are_refused(server, lines):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n" + lines + b"Connection: close\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]
)
def test_nothing_but_reading(server, method):
    answer = ask(server, "/run.json", method)
    assert answer.status == 405
    assert answer.getheader("Connection") == "close"
    assert answer.getheader("Content-Security-Policy")


def test_an_unknown_method_is_refused(server):
    assert ask(server, "/", "BREW").status == 501


@pytest.mark.parametrize(
    "path",
    [
        "/../run.jsonl", "/..%2f..%2fetc/passwd", "/%2e%2e/live.py", "//etc/passwd", "/live.py",
        "/watch.js/../live.py", "/style.css%00", "/run.jsonl", "http://127.0.0.1/", "/watch.JS",
        "/\\..\\live.py", "*",
    ],
)  # fmt: skip
def test_only_the_named_pages_are_there(server, path):
    answer = ask(server, path)
    assert answer.status == 404
    assert len(answer.body) < 50


def test_the_journal_is_left_alone(server, journal):
    before = journal.stat()
    ask(server, "/run.json")
    after = journal.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)


def test_beyond_the_loopback_addresses_are_served_and_foreign_names_are_not(journal):
    with Server(Live(journal), "0.0.0.0") as served:
        assert served.url == f"http://127.0.0.1:{served.server_port}/"
        assert served.is_ours("192.168.0.7:8000")
        assert served.is_ours("[fe80::1]")
        assert not served.is_ours("evil.example")


def test_a_port_in_use_is_said(server, journal):
    with pytest.raises(SettingsError, match="Choose another"):
        Server(Live(journal), port=server.server_port)
    with pytest.raises(SettingsError, match="Cannot listen"):
        Server(Live(journal), "256.256.256.256")
