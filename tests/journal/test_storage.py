"""What a journal asks of any storage, shown with the one in memory."""

import copy

import pytest

import rahbo
from rahbo.errors import JournalError, SettingsError
from rahbo.journal import MemoryStorage, Storage, read
from rahbo.testing import check_storage

LINE = {"x": (0.0, 1.0)}


def test_memory_keeps_what_a_storage_promises():
    storage = MemoryStorage()
    check_storage(lambda: storage)


@pytest.mark.usefixtures("still_clock")
def test_a_storage_holds_the_events_of_a_file(tmp_path):
    storage, path = MemoryStorage(), tmp_path / "run.jsonl"
    for journal in (storage, path):
        opt = rahbo.Optimizer(LINE, seed=0, repeats=2, journal=journal)
        opt.tell_failure(opt.ask(), "no")
        opt.cancel(opt.ask())
        opt.close()
    lines = path.read_text().splitlines()
    assert [line.partition(',"crc32"')[0] + "}" for line in lines] == storage.read()


def test_maximize_keeps_its_run_in_a_storage():
    storage = MemoryStorage()
    first = rahbo.maximize(lambda x: x, LINE, evaluations=4, journal=storage)
    again = rahbo.maximize(lambda x: 1 / 0, LINE, evaluations=4, journal=storage)
    assert again.recommendation == first.recommendation
    assert len(read(storage)[1]) == len(first.trials)


class Failing(MemoryStorage):
    """Raises an error before or after an event is recorded."""

    def __init__(self, error, after):
        super().__init__()
        self.error, self.after, self.fails = error, after, False

    def append(self, event, position):
        if self.after or not self.fails:
            super().append(event, position)
        if self.fails:
            raise self.error


def values(opt):
    return [list(trial.values.values()) for trial in opt.trials]


@pytest.mark.parametrize(
    ("error", "after", "raised", "kept"),
    [
        (OSError("No space left"), False, JournalError, [[1.0]]),
        (RuntimeError("database is full"), False, JournalError, [[1.0]]),
        (KeyboardInterrupt(), False, KeyboardInterrupt, [[1.0]]),
        (KeyboardInterrupt(), True, KeyboardInterrupt, [[1.0], [2.0]]),
    ],
)
def test_memory_and_storage_stay_equal_whatever_interrupts_a_call(error, after, raised, kept):
    storage = Failing(error, after)
    opt = rahbo.Optimizer(LINE, seed=0, journal=storage)
    opt.tell({"x": 0.1}, 1.0)
    storage.fails = True
    with pytest.raises(raised):
        opt.tell({"x": 0.2}, 2.0)
    storage.fails = False
    assert values(opt) == kept
    assert len(read(storage)[1]) == len(kept)
    opt.tell({"x": 0.3}, 3.0)
    opt.close()
    assert values(rahbo.Optimizer.resume(storage)) == [*kept, [3.0]]


def test_what_another_program_added_is_noticed():
    storage = MemoryStorage()
    opt = rahbo.Optimizer(LINE, seed=0, journal=storage)
    storage.append("{}", 1)
    with pytest.raises(JournalError, match=r"MemoryStorage was changed.*resume"):
        opt.tell({"x": 0.2}, 2.0)
    with pytest.raises(JournalError, match="MemoryStorage, line 2"):
        rahbo.Optimizer.resume(storage)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "does not hold a run"),
        (["shopping list"], "line 1, is damaged"),
        (["{}"], "has format None"),
        (['{"event":"run","format":2,"trials":NaN}'], "line 1, is damaged: NaN is not valid"),
        (['{"event":"run","format":99}'], "has format 99"),
        (['{"format":2}'], "not a rahbo journal"),
    ],
)
def test_a_storage_without_a_run_is_refused(events, message):
    storage = MemoryStorage()
    for position, event in enumerate(events):
        storage.append(event, position)
    with pytest.raises(JournalError, match=message):
        read(storage)


class Unreachable(Storage):
    """A server that is down."""

    def read(self, position=0):
        raise ConnectionError("connection refused")

    def append(self, event, position):
        raise ConnectionError("connection refused")

    def lock(self):
        raise ConnectionError("connection refused")

    def close(self):
        pass


def test_a_storage_that_cannot_be_reached_is_named():
    with pytest.raises(JournalError, match="Unreachable cannot be read: connection refused"):
        read(Unreachable())
    with pytest.raises(JournalError, match="Unreachable cannot be written: connection refused"):
        rahbo.Optimizer(LINE, journal=Unreachable())


def test_what_is_not_a_storage_is_refused():
    with pytest.raises(SettingsError, match="name of a file or a Storage, got 3"):
        rahbo.Optimizer(LINE, journal=3)


def test_a_copy_of_an_optimizer_does_not_write():
    storage = MemoryStorage()
    opt = rahbo.Optimizer(LINE, seed=0, journal=storage)
    copy.deepcopy(opt).tell({"x": 0.5}, 1.0)
    assert len(storage.read()) == 1
