"""Fixtures of the tests of commands."""

import pytest


@pytest.fixture
def opened(monkeypatch):
    """The addresses that commands open in a browser. Each command ends there, as by Ctrl-C."""
    addresses = []

    def interrupted(address):
        addresses.append(address)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", interrupted)
    return addresses
