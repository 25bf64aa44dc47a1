"""The live page: a run as far as its journal goes, served on this machine."""

from rahbo.pages.watch.live import Live
from rahbo.pages.watch.server import LOOPBACK, Server

__all__ = ["LOOPBACK", "Live", "Server"]
