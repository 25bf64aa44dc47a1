"""The live page: shows a run from its journal, for reading only."""

from rahbo.pages.watch.live import Live, optimizer_of
from rahbo.pages.watch.site import watch_site

__all__ = ["Live", "optimizer_of", "watch_site"]
