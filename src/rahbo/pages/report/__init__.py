"""The report of a run: one self-contained HTML file."""

from rahbo.pages.report.page import report_page
from rahbo.pages.report.record import record_of

__all__ = ["record_of", "report_page"]
