"""The journal of a run: events recorded as they happen, and read back."""

from rahbo.journal.codec import PARAMETERS, Code, decode, describe, encode, encode_settings, show
from rahbo.journal.events import apply_event, foreign, opened
from rahbo.journal.files import FileName, FileStorage, full_name, is_journal
from rahbo.journal.journal import Journal, read, settings_of, settings_to_resume
from rahbo.journal.lines import parse
from rahbo.journal.sqlite import SQLiteStorage
from rahbo.journal.storage import MemoryStorage, Storage
from rahbo.journal.texts import events_of

__all__ = [
    "PARAMETERS",
    "Code",
    "FileName",
    "FileStorage",
    "Journal",
    "MemoryStorage",
    "SQLiteStorage",
    "Storage",
    "apply_event",
    "decode",
    "describe",
    "encode",
    "encode_settings",
    "events_of",
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
