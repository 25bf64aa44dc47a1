"""The journal of a run: events written to disk as they happen, and read back."""

from rahbo.journal.codec import PARAMETERS, Code, decode, describe, encode, encode_settings, show
from rahbo.journal.events import apply_event, foreign, opened
from rahbo.journal.files import FileName, full_name
from rahbo.journal.journal import Journal, is_journal, read, settings_of, settings_to_resume
from rahbo.journal.lines import parse

__all__ = [
    "PARAMETERS",
    "Code",
    "FileName",
    "Journal",
    "apply_event",
    "decode",
    "describe",
    "encode",
    "encode_settings",
    "foreign",
    "full_name",
    "is_journal",
    "opened",
    "parse",
    "read",
    "settings_of",
    "settings_to_resume",
    "show",
]
