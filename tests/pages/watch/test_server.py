import http.client
import json
import re
import socket
import struct
import threading
import time
from contextlib import contextmanager

import pytest

import rahbo
from processes_left import wait_for
from rahbo.errors import SettingsError
from rahbo.pages import Live, Server
from rahbo.pages.connections import Connections


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    opt = rahbo.Optimizer({"x": (0.0, 1.0)}, seed=0, journal=path)
    opt.tell({"x": 0.5}, [1.0, 2.0])
    opt.close()
    return path


@contextmanager
def running(journal):
    with Server(Live(journal)) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield served
        finally:
            served.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(journal):
    with running(journal) as served:
        yield served


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


# -- many, slow and hostile clients ------------------------------------------------------------


def connected(server):
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=60)


def all_of(raw):
    """Everything a server sends until it closes, which must be without a reset."""
    return b"".join(iter(lambda: raw.recv(1 << 16), b""))


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_two_hundred_clients_at_once_are_all_answered(server, kept, capsys):
    statuses, start = [], threading.Barrier(200)

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        start.wait(60)
        for path in ("/", "/run.json", "/model.json", "/watch.js", "/run.json"):
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status)
            except (OSError, http.client.HTTPException) as error:
                statuses.append(repr(error))
            if not kept:
                connection.close()
        connection.close()

    clients = [threading.Thread(target=client) for _ in range(200)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert statuses == [200] * 1000
    assert capsys.readouterr().err == ""
    wait_for(lambda: len(server.connections) == 0)


@pytest.mark.slow
def test_clients_that_say_nothing_keep_no_others_out(journal, capsys):
    with running(journal) as served:
        served.connections = Connections(4, 60.0, 0.1)
        begun = (
            b"",
            b"GET",
            b"GET /run.json HTTP/1.1\r\n",
            b"GET / HTTP/1.1\r\nHost: loc",
            b"\x00",
        )
        silent = [connected(served) for _ in range(4 * len(begun))]
        for i, raw in enumerate(silent):
            raw.sendall(begun[i % len(begun)])
        assert ask(served, "/run.json").status == 200
        wait_for(lambda: len(served.connections) <= 4)
        served.connections = Connections(4, 0.1, 0.1)
        for raw in silent:
            raw.close()
    assert capsys.readouterr().err == ""


def test_a_request_that_never_ends_is_given_up(journal, capsys):
    """Every byte comes in time, but the request as a whole does not."""
    with running(journal) as served:
        served.connections = Connections(100, 0.3, 0.3)
        with connected(served) as raw:
            raw.sendall(b"GET /run.json HTTP/1.1\r\nHost: localhost\r\n")
            raw.settimeout(0.02)
            end, ended = time.monotonic() + 60, False
            while not ended:
                assert time.monotonic() < end
                try:
                    raw.sendall(b"X")
                    ended = raw.recv(1 << 16) == b""
                except TimeoutError:
                    continue
                except ConnectionError:
                    ended = True
        wait_for(lambda: len(served.connections) == 0)
    assert capsys.readouterr().err == ""


HOSTILE = [
    (b"GET http://[/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET http://[::1/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET http://localhost/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET http://evil.example/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /run.json%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /\xff\xfe\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /run.json?" + b"&" * 60_000 + b" HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    (b"GET /run.json?known=%ff;epoch=[ HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (b"GET /\r\n", 400),
    (b"GET\r\n", 400),
    (b"POST /run.json\r\n", 400),
    (b"GET / HTTP/1.1 more\r\n\r\n", 400),
    (b"GET / HTTP/\xb2.\xb3\r\n\r\n", 400),
    (b"GET / HTTP/1.99999999999\r\n\r\n", 400),
    (b"GET / FTP/1.1\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", 400),
    (bytes(range(256)) * 20 + b"\r\n", 400),
    (b"<script>alert(1)</script>\r\n", 400),
    (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 900_000 + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 1000 + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nno colon\r\n: no name\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nGET /", 400),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000, 405),
    (b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    (b"\r\n", None),
    (b"", None),
    (b"GET / HTTP/1.1", 403),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "status"), HOSTILE, ids=lambda value: str(value)[:40])
def test_what_is_no_request_gets_a_status_or_is_closed(server, sent, status, capsys):
    with connected(server) as raw:
        raw.sendall(sent)
        if sent in (b"", b"GET / HTTP/1.1"):
            raw.shutdown(socket.SHUT_WR)
        answer = all_of(raw)
    if status is None:
        assert answer == b""
    else:
        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert b"Content-Security-Policy" in answer
    if status in (400, 404, 414, 431):
        assert len(answer) < 1000
        assert b"alert" not in answer
    wait_for(lambda: len(server.connections) == 0)
    assert capsys.readouterr().err == ""


def test_requests_in_one_packet_are_answered_in_turn(server):
    one = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
    with connected(server) as raw:
        raw.sendall(b"".join([
            one % (b"run.json", b""), one % (b"style.css", b""), one % (b"none", b""),
            one % (b"run.json", b""),
        ]))  # fmt: skip
        answer = all_of(raw)
    # An error ends the connection, as its answer says, so the last request has none.
    assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"200", b"200", b"404"]


def test_connections_that_are_reset_are_forgotten_without_a_word(server, capsys):
    for sent in (b"", b"GET", b"GET /run.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50):
        for _ in range(10):
            with connected(server) as raw:
                # Closing without lingering sends a reset.
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                raw.sendall(sent)
    assert ask(server, "/run.json").status == 200
    wait_for(lambda: len(server.connections) == 0)
    assert capsys.readouterr().err == ""


def test_what_goes_wrong_inside_is_a_status_and_one_line(server, monkeypatch, capsys):
    def broken(*args):
        raise RuntimeError("What\nbroke.")

    monkeypatch.setattr(server.live, "model", broken)
    answer = ask(server, "/model.json")
    assert (answer.status, answer.body) == (500, b"500 Internal Server Error\n")
    wait_for(lambda: len(server.connections) == 0)
    assert capsys.readouterr().err == (
        "rahbo watch could not answer a request: RuntimeError('What\\nbroke.')\n"
    )
