"""HTML pages: the report of a run, the live page on a run, the lab, and what they share."""

from rahbo.pages.answers import Site
from rahbo.pages.escape import shown, visible
from rahbo.pages.history import history_of
from rahbo.pages.lab import PORT as LAB_PORT
from rahbo.pages.lab import Spec, Studies, Study, lab_site
from rahbo.pages.report import record_of, report_page
from rahbo.pages.serving import Server
from rahbo.pages.watch import Live, optimizer_of, watch_site
from rahbo.pages.words import basis, listed

__all__ = [
    "LAB_PORT",
    "Live",
    "Server",
    "Site",
    "Spec",
    "Studies",
    "Study",
    "basis",
    "history_of",
    "lab_site",
    "listed",
    "optimizer_of",
    "record_of",
    "report_page",
    "shown",
    "visible",
    "watch_site",
]
