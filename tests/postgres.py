"""A PostgreSQL server of our own: installed binaries, an ordinary user, a Unix socket."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """The folder with ``initdb`` and ``postgres``, if they are installed."""
    folders = [Path(found).resolve().parent for found in [shutil.which("postgres")] if found]
    if shutil.which("pg_config"):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
        folders.append(Path(told.stdout.strip()))
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    tools = ("initdb", "postgres")
    return next((f for f in folders if all((f / tool).is_file() for tool in tools)), None)


def ordinary_user() -> str | None:
    """Whom to run the server as: it refuses root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a server from the binaries in a folder; gives the URL of its database."""
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    user = ordinary_user()
    run = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    if user:
        shutil.chown(home, user)
    log = (home / "log").open("wb")
    run |= {"cwd": home, "stdout": log, "stderr": log, "stdin": subprocess.DEVNULL}
    make = ["initdb", "-D", "data", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    socket_only = ["-D", "data", "-k", str(home), "-c", "listen_addresses=", "-F"]
    process = None
    try:
        subprocess.run([folder / make[0], *make[1:]], check=True, **run)
        process = subprocess.Popen([folder / "postgres", *socket_only], **run)
        wait_for(lambda: b"ready to accept" in (home / "log").read_bytes(), process)
        yield f"postgresql+psycopg://tester@/postgres?host={home}"
    except BaseException:
        print((home / "log").read_text(errors="replace"))
        raise
    finally:
        log.close()
        if process is not None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        shutil.rmtree(home, ignore_errors=True)


def wait_for(condition, process: subprocess.Popen, seconds: float = 60.0) -> None:
    """Until the condition holds; an error if the process ends before, or it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, f"ended with {process.returncode}"
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.05)
