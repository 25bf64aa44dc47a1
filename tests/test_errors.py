"""The family of errors: one base, and the builtin that each kind also is."""

import inspect
import pickle

import pytest

from rahbo import errors
from rahbo.errors import DataError, ObjectiveError, RahboError, SettingsError, SpaceError, at

# Another value would mend the first kind, and none the second.
BUILTINS = {
    ValueError: {"SpaceError", "DataError", "SettingsError"},
    RuntimeError: {
        *("ExhaustedError", "NotReadyError", "NumericalError"),
        *("JournalError", "ObjectiveError", "ExecutorError"),
    },
    ImportError: {"MissingLibraryError"},
}
KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
KINDS = [kind for kind in KINDS if issubclass(kind, RahboError)]


def test_each_kind_is_an_error_of_the_package_and_a_builtin_one():
    for builtin, names in BUILTINS.items():
        assert {kind.__name__ for kind in KINDS if issubclass(kind, builtin)} == names
    assert {kind.__name__ for kind in KINDS} == {"RahboError"}.union(*BUILTINS.values())
    assert all(kind.__doc__ for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_survive_the_way_back_from_a_worker_process(kind):
    back = pickle.loads(pickle.dumps(kind("what came")))
    assert type(back) is kind
    assert str(back) == "what came"


def test_an_error_within_a_run_carries_it():
    run = {"measured": [1.0, 2.0]}
    for error in (ObjectiveError("gave None", run), errors.ExecutorError("gave None", run)):
        assert error.optimizer is run
        assert str(error) == "gave None"
        assert pickle.loads(pickle.dumps(error)).optimizer == run
    assert ObjectiveError("gave None").optimizer is None


def test_an_error_about_data_names_the_place_and_another_stays_as_it_is():
    for kind, message in ((SpaceError, r"^data\[3\]: a$"), (DataError, r"^data\[3\]: a$"),
                          (SettingsError, "^a$")):  # fmt: skip
        with pytest.raises(kind, match=message), at("data[3]"):
            raise kind("a")
