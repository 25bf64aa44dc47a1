"""HTML pages: the report of a run, the live page on a run, and what both share."""

from rahbo.pages.escape import shown, visible
from rahbo.pages.history import history_of
from rahbo.pages.report import record_of, report_page
from rahbo.pages.watch import LOOPBACK, Live, Server
from rahbo.pages.words import basis, certainty, listed

__all__ = [
    "LOOPBACK",
    "Live",
    "Server",
    "basis",
    "certainty",
    "history_of",
    "listed",
    "record_of",
    "report_page",
    "shown",
    "visible",
]
