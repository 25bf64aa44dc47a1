"""What a server of pages does with hostile clients: our own, and Starlette with uvicorn.

    python bench/serving.py
    pip install starlette uvicorn && python bench/serving.py --asgi

The server runs in a process of its own that may open 256 files, as on macOS. Printed are the time
from its start to its first answer, how many of the requests of `tests/pages/test_serving.py` are
answered or closed within 5 seconds and how many of these answers have the headers that protect a
page, what an honest client gets beside 400 clients that never finish their request, and the time of
one request.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import os
import resource
import socket
import sys
import time
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / part) for part in (".", "pages")]

FILES, SILENT, PATIENCE = 256, 400, 60.0


def own(ready: Connection) -> None:
    """Serve with the server of the package."""
    from rahbo.pages import Live, Server, watch_site

    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    with Server(watch_site(Live("run.jsonl"))) as server:
        ready.send(server.port)
        server.serve_forever()


def asgi(ready: Connection) -> None:
    """Serve the same with Starlette and uvicorn, with the headers and the check of the host."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from rahbo.pages import Live, watch_site
    from rahbo.pages.serving import HEADERS

    site = watch_site(Live("run.jsonl"))

    def read(request: Request) -> Response:
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        answer = site.read(request.url.path, query)
        if answer is None:
            return Response("404 Not Found\n", 404, HEADERS, "text/plain")
        return Response(answer.body, answer.status, {**HEADERS, **answer.headers}, answer.kind)

    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1"])
    app = Starlette(routes=[Route("/{path:path}", read)], middleware=[hosts])
    # Out of files, asyncio prints a traceback for each time that it looks again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    config = uvicorn.Config(
        app, port=0, http="h11", ws="none", lifespan="off", log_level="critical",
        server_header=False, limit_concurrency=128, timeout_keep_alive=30, backlog=1024,
    )  # fmt: skip
    listener = config.bind_socket()
    ready.send(listener.getsockname()[1])
    uvicorn.Server(config).run([listener])


def answer_to(port: int, sent: bytes, ends: bool) -> bytes | None:
    """Return what comes back until the server closes; None if it is reset or takes too long."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5.0) as raw:
        raw.sendall(sent)
        if ends:
            raw.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: raw.recv(1 << 16), b""))
    return None


def ask(port: int) -> int | str:
    """Return what an honest client gets: the status of its answer, or the name of an error."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        try:
            connection.request("GET", "/run.json")
            return len(connection.getresponse().read()) and 200
        except OSError as error:
            return type(error).__name__


def main() -> None:
    """Start a server, be hostile to it, and print what it did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asgi", action="store_true", help="Starlette and uvicorn")
    start = multiprocessing.get_context("spawn")
    theirs, ours = start.Pipe()
    began = time.monotonic()
    server = start.Process(target=asgi if parser.parse_args().asgi else own, args=(ours,))
    server.start()
    port = theirs.recv()
    while answer_to(port, b"", ends=True) is None:
        time.sleep(0.01)
    print(f"first answer: {ask(port)}, {time.monotonic() - began:.2f} s after the start")

    from test_serving import HOSTILE

    answers = [answer_to(port, sent, sent in (b"", b"GET / HTTP/1.1")) for sent, _ in HOSTILE]
    given = [answer for answer in answers if answer]
    n_protected = sum(b"content-security-policy" in answer.lower() for answer in given)
    print(f"answered or closed: {len(answers) - answers.count(None)} of {len(answers)}")
    print(f"protected: {n_protected} of {len(given)} answers")

    began = time.monotonic()
    for _ in range(200):
        ask(port)
    print(f"one request: {1e3 * (time.monotonic() - began) / 200:.2f} ms")

    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(SILENT)]
    for raw in silent:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: loc")
    began = time.monotonic()
    print(f"beside {SILENT} silent clients: {ask(port)} after {time.monotonic() - began:.1f} s")
    server.kill()


if __name__ == "__main__":
    main()
