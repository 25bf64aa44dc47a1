import json
import re
import socket
import struct
import threading

import pytest

from page_server import all_of, ask, connected, running, send
from processes_left import wait_for
from rahbo.errors import DataError, SettingsError
from rahbo.pages.answers import Answer, HTTPStatus, RefusedError, Site, json_answer
from rahbo.pages.serving import MOST_BYTES, Server

LARGE = bytes(50_000_000)


def read(path, query):
    if path == "/refused":
        raise RefusedError(HTTPStatus.CONFLICT, "Not now")
    if path == "/broken":
        raise RuntimeError("What\nbroke.")
    pages = {
        "/": Answer(b"first", "text/html"),
        "/framed": Answer(b"x", "text/plain", headers={"X-Frame-Options": "SAMEORIGIN"}),
        "/query": json_answer(query, HTTPStatus.ACCEPTED),
        "/large": Answer(LARGE, "text/plain"),
    }
    return pages.get(path)


def change(path, record):
    if path == "/wrong":
        raise DataError("It is wrong.")
    return json_answer(record) if path == "/echo" else None


READ, CHANGED = Site("rahbo test", read), Site("rahbo test", read, change)


@pytest.fixture(scope="module")
def server():
    with running(Server(READ)) as served:
        yield served


@pytest.fixture(scope="module")
def lab():
    with running(Server(CHANGED)) as served:
        yield served


# -- reading -----------------------------------------------------------------------------------


def test_a_page_and_its_head(server):
    answer, head = ask(server), ask(server, method="HEAD")
    assert (answer.status, answer.body, answer.getheader("Content-Type")) == (
        200, b"first", "text/html",
    )  # fmt: skip
    assert (head.status, head.body, head.getheader("Content-Length")) == (200, b"", "5")
    with connected(server) as raw:
        raw.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert all_of(raw).endswith(b"\r\n\r\n")
    query = ask(server, "/query?a=1&a=2&b=")
    assert (query.status, query.body) == (202, b'{"a":["1","2"]}')


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/refused", 409, b"409 Not now\n"),
        ("/nothing", 404, b"404 Not Found\n"),
        ("/token.json", 404, b"404 Not Found\n"),
    ],
)
def test_what_is_refused_says_why_and_no_more(server, path, status, body, capsys):
    answer = ask(server, path)
    assert (answer.status, answer.body) == (status, body)
    assert capsys.readouterr().err == ""


def test_what_goes_wrong_inside_is_a_status_and_one_line(server, capsys):
    answer = ask(server, "/broken")
    assert (answer.status, answer.body) == (500, b"500 Internal Server Error\n")
    said = []
    wait_for(lambda: said.append(capsys.readouterr().err) or "".join(said).endswith("\n"))
    assert "".join(said) == (
        "rahbo test could not answer a request: RuntimeError('What\\nbroke.')\n"
    )


@pytest.mark.parametrize("path", ["/", "/query", "/nothing"])
def test_every_answer_is_protected(server, path):
    answer = ask(server, path)
    policy = answer.getheader("Content-Security-Policy").split("; ")
    for rule in (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'",
    ):  # fmt: skip
        assert rule in policy
    for name, value in (
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("X-Frame-Options", "DENY"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"), ("Connection", "close"),
    ):  # fmt: skip
        assert answer.getheader(name) == value
    assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert answer.getheader("Server").split() == ["rahbo"]


def test_an_answer_may_have_headers_of_its_own(server):
    assert ask(server, "/framed").getheader("X-Frame-Options") == "SAMEORIGIN"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example",
             "user@evil.example", "192.168.0.7", "", "[", "[::1", "localhost, evil.example", None],
)  # fmt: skip
def test_a_foreign_host_is_refused(server, host):
    answer = ask(server, "/", Host=host)
    assert (answer.status, b"--host NAME" in answer.body) == (403, True)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000"])
def test_our_own_host_is_served_through_tunnels_too(server, host):
    assert ask(server, "/", Host=host).status == 200


@pytest.mark.parametrize(
    "method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"]
)
def test_nothing_but_reading_and_posting(lab, method):
    answer = ask(lab, "/echo", method)
    assert (answer.status, answer.body) == (501, b"501 Not Implemented\n")


def test_what_is_only_read_takes_no_changes(server):
    assert send(server, "/echo", {}).status == 405


def test_a_port_in_use_and_a_host_that_is_not_there_are_said(server):
    for host, port in (("127.0.0.1", server.port), ("256.256.256.256", 0), ("\udcff", 0)):
        with pytest.raises(SettingsError, match=r"Cannot listen .* Choose another port"):
            Server(READ, host, port)


# -- changing ----------------------------------------------------------------------------------


def test_a_page_of_ours_may_change_something(lab):
    token = json.loads(ask(lab, "/token.json").body)["token"]
    assert token == lab.token
    assert json.loads(send(lab, "/echo", {"a": [1, "é"]}).body) == {"a": [1, "é"]}
    tunnel = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}
    assert send(lab, "/echo", {}, **tunnel).status == 200
    assert send(lab, "/none", {}).status == 404
    wrong = send(lab, "/wrong", {})
    assert (wrong.status, wrong.body) == (422, b'{"error":"It is wrong."}')


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Rahbo-Token": None},
        {"X-Rahbo-Token": "guess"},
        {"X-Rahbo-Token": "\xe9"},
        {"Origin": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Host": "192.168.0.7", "Origin": "http://192.168.0.7"},
        {"Host": None},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_that_no_page_of_ours_sent_is_refused(lab, headers):
    answer = send(lab, "/echo", {"secret": 1}, **headers)
    assert answer.status == 403
    assert lab.token.encode() not in answer.body
    assert b"secret" not in answer.body


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"Content-Type": None}, 415),
        (b"", {"Content-Length": None}, 411),
        (b"", {"Content-Length": "-1"}, 411),
        (b"", {"Content-Length": "1" * 30}, 413),
        (b"0" * (MOST_BYTES + 1), {}, 413),
        (b"{}", {"Transfer-Encoding": "chunked"}, 411),
        (b"{", {}, 400),
        (b"\xff", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"[]", {}, 400),
        (b"1", {}, 400),
    ],
)
def test_malformed_bodies_are_refused(lab, body, headers, status):
    assert send(lab, "/echo", body, **headers).status == status


CHANGE = (
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nX-Rahbo-Token: {}\r\n"
    "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n"
)


def test_a_body_that_ends_early_is_refused(lab):
    with connected(lab) as raw:
        raw.sendall(CHANGE.format(lab.token).encode() + b"{}")
        raw.shutdown(socket.SHUT_WR)
        assert all_of(raw).startswith(b"HTTP/1.1 400 ")


# -- beyond the loopback -----------------------------------------------------------------------


def test_beyond_the_loopback_everything_needs_the_token():
    with running(Server(CHANGED, "0.0.0.0")) as server:
        assert re.fullmatch(rf"http://[\d.]+:{server.port}/\?token={server.token}", server.address)
        name, _, _ = server.cookie.partition("=")
        for path in ("/", "/nothing", "/token.json", "/?token=guess", "/?token="):
            assert ask(server, path).status == 403
        for cookie in ("x", f"{name}=guess", f"rahbo-1={server.token}", "a=b; =", "\xe9"):
            assert ask(server, "/", Cookie=cookie).status == 403
        assert send(server, "/echo", {}).status == 403
        for path in ("/", "//evil.example/", "/\\evil.example/", "/query"):
            answer = ask(server, f"{path}?token={server.token}")
            assert (answer.status, answer.getheader("Location")) == (303, "/")
        kept, *rules = answer.getheader("Set-Cookie").split("; ")
        assert {"HttpOnly", "SameSite=Strict"} < set(rules)
        assert ask(server, "/", Cookie=f"other=1; {kept}").status == 200
        assert ask(server, "/", Cookie=kept, Host="192.168.0.7:8000").status == 200
        assert ask(server, "/", Cookie=kept, Host="evil.example").status == 403
        assert send(server, "/echo", {}, Cookie=kept, **{"X-Rahbo-Token": None}).status == 403
        assert send(server, "/echo", {}, Cookie=kept).status == 200


def test_addresses():
    for host, address in (("localhost", "http://localhost:{}/"), ("::1", "http://[::1]:{}/")):
        with Server(READ, host) as server:
            assert (server.address, server.is_guarded) == (address.format(server.port), False)
    with Server(READ, "0.0.0.0") as server:
        assert server.is_ours("[fe80::1]")
        assert not server.is_ours("evil.example")


# -- many, slow and hostile clients ------------------------------------------------------------


class Strict(Server):
    """Room for few clients, and little time for each."""

    most_connections, longest_wait, hurry = 2, 0.3, 0.3


class Crowded(Server):
    """Patient as long as there is room."""

    most_connections, longest_wait, hurry = 4, 3600.0, 0.3


def is_served(server):
    """Whether a client gets its answer. On a busy machine it may be too slow itself, once."""
    try:
        return ask(server).status == 200
    except OSError:
        return False


@pytest.mark.slow
def test_two_hundred_clients_at_once_are_all_answered(server, capsys):
    statuses, start = [], threading.Barrier(200)

    def client():
        start.wait(60)
        paths = ("/", "/query", "/framed", "/", "/query")
        statuses.extend(ask(server, path).status for path in paths)

    clients = [threading.Thread(target=client) for _ in range(200)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert sorted(statuses) == [200] * 600 + [202] * 400
    assert capsys.readouterr().err == ""


BEGUN = (b"", b"GET", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: loc", b"\x00",
         b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")  # fmt: skip


def test_clients_that_say_nothing_or_do_not_close_keep_no_others_out(capsys):
    with running(Crowded(READ)) as served:
        silent = [connected(served) for _ in range(12)]
        for i, raw in enumerate(silent):
            raw.sendall(BEGUN[i % len(BEGUN)])
        wait_for(lambda: is_served(served))
        for raw in silent:
            raw.close()
    assert capsys.readouterr().err == ""


def test_a_client_that_is_gone_before_it_is_accepted_takes_no_place(monkeypatch):
    monkeypatch.setattr("rahbo.pages.serving.LOOK_AGAIN", 0.01)
    with Strict(READ) as served:
        # As where a system forgets a connection that was reset, there is none to accept.
        for _ in range(served.most_connections + 1):
            with pytest.raises(TimeoutError, match="timed out"):
                served.get_request()


def trickled(raw, byte):
    """What comes back while one byte after the other is sent, until the connection ends."""
    raw.settimeout(0.02)
    ended = []

    def ends():
        try:
            raw.sendall(byte)
            ended.append(raw.recv(1 << 16))
        except TimeoutError:
            return False
        except ConnectionError:
            ended.append(b"")
        return True

    wait_for(ends)
    return ended[0]


def test_a_request_that_never_ends_is_given_up(capsys):
    """Every byte comes in time, but the request as a whole does not."""
    with running(Strict(CHANGED)) as served:
        for _ in range(3):
            with connected(served) as raw:
                raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
                assert trickled(raw, b"X") == b""
            with connected(served) as raw:
                raw.sendall(CHANGE.replace("10", "100000").format(served.token).encode())
                assert trickled(raw, b" ").startswith(b"HTTP/1.1 408 ")
        wait_for(lambda: is_served(served))
    assert capsys.readouterr().err == ""


def test_a_client_that_does_not_take_its_answer_is_given_up(capsys):
    with running(Strict(READ)) as served:
        greedy = [connected(served) for _ in range(4)]
        for raw in greedy:
            raw.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: is_served(served))
        for raw in greedy:
            raw.close()
    assert capsys.readouterr().err == ""


def test_a_client_that_never_stops_is_cut_off(capsys):
    with running(Crowded(READ)) as served, connected(served) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(ConnectionError):
            raw.sendall(LARGE)
    assert capsys.readouterr().err == ""


HOSTILE = [
    (b"GET http://[/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET http://[::1/run.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /query%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /\xff\xfe\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /?" + b"&" * 60_000 + b" HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    (b"GET /?known=%ff;epoch=[ HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (b"GET /\r\n", 400),
    (b"GET\r\n", 400),
    (b"POST /\r\n", 400),
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
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nno colon\r\n: no name\r\n\r\n", 403),
    # One answer a connection: what looks like a second request in a body or behind it is dropped.
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nGET /", 200),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50, 200),
    (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000, 405),
    (b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
    (b"\r\n", None),
    (b"", None),
    (b"GET / HTTP/1.1", 403),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "status"), HOSTILE, ids=lambda value: str(value)[:40])
def test_what_is_no_request_gets_a_status_or_is_closed(server, sent, status, capsys):
    with connected(server) as raw:
        # So little is under way that the server must read on for the client to get its answer.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        raw.sendall(sent)
        if sent in (b"", b"GET / HTTP/1.1"):
            raw.shutdown(socket.SHUT_WR)
        answer = all_of(raw)
    if status is None:
        assert answer == b""
    else:
        assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"%d" % status]
        assert b"Content-Security-Policy" in answer
        assert len(answer) < 1000
        assert b"alert" not in answer
    assert capsys.readouterr().err == ""


def test_connections_that_are_reset_are_forgotten_without_a_word(capsys):
    with running(Strict(READ)) as served:
        for sent in (b"", b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50):
            for _ in range(10):
                with connected(served) as raw:
                    # Closing without lingering sends a reset.
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    raw.sendall(sent)
        wait_for(lambda: is_served(served))
    assert capsys.readouterr().err == ""
