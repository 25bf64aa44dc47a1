"""A server of pages in a thread, and its clients."""

import http.client
import json
import socket
import threading
from contextlib import closing, contextmanager


@contextmanager
def running(server):
    """A server that answers until the block ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def connected(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def all_of(raw):
    """Everything a server sends until it closes, which must be without a reset."""
    return b"".join(iter(lambda: raw.recv(1 << 16), b""))


def ask(server, path="/", method="GET", body=None, **headers):
    """The answer to a request, with its whole body."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        given = {name.lower() for name in headers}
        connection.putrequest(method, path, skip_host="host" in given, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.body = answer.read()
        return answer


def send(server, path, record, **headers):
    """The answer to a change as a page sends it, with some headers changed, or left out if None."""
    raw = record if isinstance(record, bytes) else json.dumps(record).encode()
    usual = {
        "Host": f"127.0.0.1:{server.port}",
        "Origin": f"http://127.0.0.1:{server.port}",
        "X-Rahbo-Token": server.token,
        "Content-Type": "application/json",
        "Content-Length": str(len(raw)),
    }
    return ask(server, path, "POST", raw, **{**usual, **headers})
