import http.client
import threading

import pytest

from rahbo.pages.serving import (
    HEADERS,
    Answer,
    HTTPStatus,
    PageHandler,
    PageServer,
    RefusedError,
    asset,
    json_answer,
    pages_of,
)


class Handler(PageHandler):
    def read(self, path, query):
        if path == "/framed":
            return Answer(b"x", "text/plain", headers={"X-Frame-Options": "SAMEORIGIN"})
        if path == "/plain":
            return Answer(b"x", "text/plain")
        if path == "/refused":
            raise RefusedError(HTTPStatus.CONFLICT, "Not now")
        if path == "/broken":
            raise ValueError("a secret")
        return json_answer(query, HTTPStatus.ACCEPTED) if path == "/query" else None


@pytest.fixture(scope="module")
def server():
    with PageServer("rahbo test", Handler, "127.0.0.1", 0) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def ask(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


@pytest.fixture
def connection(server):
    found = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    yield found
    found.close()


def test_headers_of_one_answer_are_not_those_of_the_next(connection):
    assert ask(connection, "/framed")[2]["X-Frame-Options"] == "SAMEORIGIN"
    assert ask(connection, "/plain")[2]["X-Frame-Options"] == HEADERS["X-Frame-Options"]


def test_only_a_usual_answer_can_be_kept(connection):
    status, body, headers = ask(connection, "/query?a=1&a=2")
    assert (status, body) == (202, b'{"a":["1","2"]}')
    assert headers["ETag"] is None


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/refused", 409, b"409 Not now\n"),
        ("/nothing", 404, b"404 Not Found\n"),
        ("/broken", 500, b"500 Internal Server Error\n"),
    ],
)
def test_what_is_refused_says_why_and_no_more(connection, capfd, path, status, body):
    assert ask(connection, path)[:2] == (status, body)
    if path != "/broken":
        assert capfd.readouterr().err == ""


def test_a_subclass_must_say_what_there_is():
    with pytest.raises(TypeError, match="abstract"):
        PageHandler(None, None, None)


def test_files_of_the_package():
    assert pages_of({"/s": ("style.css", "text/css")}) == {
        "/s": Answer(asset("style.css"), "text/css")
    }
