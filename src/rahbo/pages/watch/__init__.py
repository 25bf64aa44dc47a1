"""The live page: shows a run from its journal, served on this machine."""

from rahbo.pages.watch.live import Live
from rahbo.pages.watch.server import LOOPBACK, Server

__all__ = ["LOOPBACK", "Live", "Server"]
