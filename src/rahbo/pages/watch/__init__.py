"""The live page: shows a run from its journal, for reading only."""

from rahbo.pages.watch.live import Live
from rahbo.pages.watch.site import watch_site

__all__ = ["Live", "watch_site"]
