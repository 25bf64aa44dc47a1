"""HTML pages: the report of a run, the live page on a run, the lab, and what they share."""

from rahbo.pages.escape import shown, visible
from rahbo.pages.history import history_of
from rahbo.pages.lab import PORT as LAB_PORT
from rahbo.pages.lab import LabServer, Spec, Studies, Study
from rahbo.pages.report import record_of, report_page
from rahbo.pages.watch import LOOPBACK, Live, Server
from rahbo.pages.words import basis, listed

__all__ = [
    "LAB_PORT",
    "LOOPBACK",
    "LabServer",
    "Live",
    "Server",
    "Spec",
    "Studies",
    "Study",
    "basis",
    "history_of",
    "listed",
    "record_of",
    "report_page",
    "shown",
    "visible",
]
