"""The same table as a frame of each kind: one of the tests' own, of pandas and of polars."""

import importlib

import pytest

from extras import needs


class Column(list):
    def to_list(self):
        return list(self)


class Frame:
    """A data frame that needs no library."""

    def __init__(self, columns):
        self._cells = {name: Column(cells) for name, cells in columns.items()}

    @property
    def columns(self):
        return list(self._cells)

    def __getitem__(self, name):
        return self._cells[name]

    def to_dict(self):
        raise NotImplementedError


def of(library):
    """Return the function that makes a frame of a dict of columns."""
    return Frame if library == "none" else importlib.import_module(library).DataFrame


LIBRARIES = [
    "none",
    pytest.param("pandas", marks=needs("pandas")),
    pytest.param("polars", marks=needs("polars")),
]
