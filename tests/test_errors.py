"""The family of errors: one base, and the builtin that each kind also is."""

import inspect
import pickle

import pytest

from rahbo import errors
from rahbo.errors import (
    DataError,
    ExecutorError,
    ObjectiveError,
    RahboError,
    SettingsError,
    SpaceError,
    at,
)

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
KINDS = [kind for kind in CLASSES if issubclass(kind, RahboError)]


def test_the_family_is_complete():
    assert {kind.__name__ for kind in KINDS} == {
        "RahboError",
        "SpaceError",
        "DataError",
        "SettingsError",
        "ExhaustedError",
        "NotReadyError",
        "MissingLibraryError",
        "NumericalError",
        "JournalError",
        "ObjectiveError",
        "ExecutorError",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_one_except_clause_catches_every_kind(kind):
    with pytest.raises(RahboError, match="what came"):
        raise kind("what came")
    assert kind.__doc__


@pytest.mark.parametrize("name", ["SpaceError", "DataError", "SettingsError"])
def test_bad_values_of_the_user_are_value_errors(name):
    assert issubclass(getattr(errors, name), ValueError)


@pytest.mark.parametrize(
    "name",
    [
        "ExhaustedError",
        "NotReadyError",
        "NumericalError",
        "JournalError",
        "ObjectiveError",
        "ExecutorError",
    ],
)
def test_what_no_other_value_would_mend_is_a_runtime_error(name):
    kind = getattr(errors, name)
    assert issubclass(kind, RuntimeError)
    assert not issubclass(kind, ValueError)


@pytest.mark.parametrize("kind", [ObjectiveError, ExecutorError])
def test_an_error_within_a_run_carries_it(kind):
    run = {"measured": [1.0, 2.0]}
    assert kind("gave None", run).optimizer is run
    assert kind("gave None").optimizer is None
    assert str(kind("gave None", run)) == "gave None"


@pytest.mark.parametrize("kind", KINDS)
def test_errors_survive_the_way_back_from_a_worker_process(kind):
    back = pickle.loads(pickle.dumps(kind("what came")))
    assert type(back) is kind
    assert str(back) == "what came"


def test_the_run_survives_the_way_back_too():
    back = pickle.loads(pickle.dumps(ObjectiveError("gave None", [1.0])))
    assert back.optimizer == [1.0]


@pytest.mark.parametrize("kind", [SpaceError, DataError])
def test_an_error_about_data_names_the_place(kind):
    with pytest.raises(kind, match=r"^data\[3\]: what came$"), at("data[3]"):
        raise kind("what came")


def test_other_errors_stay_as_they_are():
    with pytest.raises(SettingsError, match=r"^what came$"), at("data[3]"):
        raise SettingsError("what came")
