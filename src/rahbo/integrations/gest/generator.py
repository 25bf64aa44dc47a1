"""The generator: suggestions one evaluation at a time, and results by their ids.

The standard knows points, we know suggestions with repeats. Here each repeat is a point of its own.
Its ``_id`` counts the repeats that were asked for, from 1, in the order of suggestions. So the id
follows from the run, and a run that is resumed recognises the ids it gave out before.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from gest_api.generator import Generator
from gest_api.vocs import VOCS

from rahbo.errors import DataError, ExhaustedError, SettingsError
from rahbo.integrations.gest.results import Result, points_in
from rahbo.integrations.gest.vocs import Problem, nearly
from rahbo.journal import FileName, full_name
from rahbo.numerics import SharedLock, is_whole, shared_by_threads, spells_out
from rahbo.optimizer import Optimizer
from rahbo.settings import Keywords, Settings, setting_parameters
from rahbo.trials import Trial

# Settings that the VOCS decides, and those that points of the standard cannot hold.
IN_VOCS, NOT_HERE = ("constraints", "direction"), ("blocks",)
# A suggestion and one of its repeats.
Asked = tuple[int, int]


@shared_by_threads()
class RahboGenerator(Generator):
    """A generator of the gest-api standard that learns the noise and repeats points.

    A point that should be measured three times is suggested three times, with equal variables and
    different ids. A result belongs to the point whose ``_id`` it has. A result without one is a
    point that the user chose, or an open suggestion with the same variables. A result without a
    finite objective, or with ``xopt_error``, is a failed evaluation.

    Copies and pickles are generators of the same kind. If there is a journal, the copy continues
    the run and the original must not be used any more.

    All other keywords are settings of `Optimizer`: ``risk``, ``repeats``, ``method``, ...

    Args:
        vocs: Variables, objective, constraints, constants and observables. Exactly one objective.
        probability: The probability with which each constraint must be kept, noise included.
        journal: File to which every suggestion and value is written before the call returns. If it
            already holds a run, that run continues. It is opened by the first call that needs it.

    Attributes:
        vocs: The VOCS.

    >>> vocs = VOCS(variables={"x": [0.0, 2.0]}, objectives={"f": "MAXIMIZE"})
    >>> generator = RahboGenerator(vocs, repeats=3, seed=0)
    >>> points = generator.suggest(4)
    >>> [point["_id"] for point in points], points[0]["x"] == points[2]["x"] != points[3]["x"]
    ([1, 2, 3, 4], True)
    >>> generator.ingest([{**point, "f": value} for point, value in zip(points, [1, 2, 3, 4])])
    >>> generator.optimizer.n_evaluations
    4
    """

    returns_id = True

    @spells_out(
        [p for p in setting_parameters() if p.name not in IN_VOCS + NOT_HERE],
        let_through=IN_VOCS + NOT_HERE,
    )
    def __init__(
        self,
        vocs: VOCS,
        *,
        probability: float = 0.95,
        journal: FileName | None = None,
        **settings: Unpack[Keywords],
    ) -> None:
        self._lock = SharedLock()
        self._probability = probability
        _check_names(settings)
        super().__init__(vocs)
        self.vocs = vocs
        self._settings = settings
        self._journal = None if journal is None else full_name(journal)
        # The journal is opened later, so that the copy which is used can open it.
        Settings.of(self._problem.space, self._keywords())
        self._optimizer: Optimizer | None = None
        self._process = os.getpid()
        # Ids that wait to be handed out, and those that were.
        self._queue: deque[int] = deque()
        self._given: set[int] = set()
        # Ids of suggestions that this generator made itself, and nobody has got yet.
        self._unseen: set[int] = set()
        # The number of repeats asked for before each trial.
        self._starts: list[int] = [0]

    def _validate_vocs(self, vocs: VOCS) -> None:
        if not vocs.variables:
            raise SettingsError("VOCS must define at least one variable.")
        self._problem = Problem.of(vocs, self._probability)

    def _keywords(self) -> Keywords:
        problem = self._problem
        return {
            **self._settings,
            "direction": problem.direction,
            "constraints": problem.constraints,
        }

    def __getstate__(self) -> dict[str, Any]:
        with self._lock.here():
            state = dict(vars(self))
            if self._journal is not None:
                if self._optimizer is not None:
                    self._optimizer.close()
                state["_optimizer"] = None
            return state

    @property
    def optimizer(self) -> Optimizer:
        """The run: `Optimizer.recommend`, `Optimizer.predict` and more."""
        if self._journal is not None and self._process != os.getpid():
            # A fork may not write the file of its parent.
            self._optimizer = None
        if self._optimizer is None:
            self._process = os.getpid()
            self._optimizer = Optimizer(
                self._problem.space, journal=self._journal, **self._keywords()
            )
        return self._optimizer

    # -- suggesting --------------------------------------------------------------------------

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return exactly ``num_points`` points to evaluate, or one if it is None.

        Repeats of a point that were not handed out yet come first. Points that were handed out and
        not ingested are taken into account.
        """
        n = 1 if num_points is None else num_points
        if not (is_whole(n) and n >= 0):
            raise SettingsError(f"suggest() needs a whole number of points, got {num_points!r}.")
        taken: list[int] = []
        try:
            while len(taken) < n:
                if not self._queue:
                    self._ask()
                    continue
                number = self._queue.popleft()
                trial, repeat = self._asked(number)
                if repeat in trial.missing:
                    taken.append(number)
        except BaseException as error:
            self._queue.extendleft(reversed(taken))
            if isinstance(error, ExhaustedError):
                raise SettingsError(f"suggest() cannot give {n} points: {error}") from error
            raise
        self._given.update(taken)
        self._unseen.difference_update(taken)
        return [self._point(number) for number in taken]

    def _ask(self) -> None:
        made = len(self.optimizer.state.trials)
        suggestion = self.optimizer.ask()
        numbers = [self._number(suggestion.id, repeat) for repeat in suggestion.indices]
        if suggestion.id >= made:
            self._unseen.update(numbers)
        # A copy with a journal finds suggestions open that the original handed out.
        self._queue.extend(number for number in numbers if number not in self._given)

    def _point(self, number: int) -> dict[str, Any]:
        trial, _ = self._asked(number)
        values = {**trial.params, **self._problem.fixed}
        names = (*self.vocs.variables, *self.vocs.constants)
        return {**{name: values[name] for name in names}, "_id": number}

    # -- ids ---------------------------------------------------------------------------------

    def _trial(self, number: int) -> Trial:
        return self.optimizer.state.trials[number]

    def _number(self, trial: int, repeat: int) -> int:
        self._count()
        return self._starts[trial] + repeat + 1

    def _asked(self, number: int) -> tuple[Trial, int]:
        """Return the trial and the repeat index of an id."""
        self._count()
        at = bisect_right(self._starts, number - 1) - 1
        if 0 <= at < len(self._starts) - 1:
            trial = self._trial(at)
            repeat = number - 1 - self._starts[at]
            if repeat < trial.n_requested:
                return trial, repeat
        raise DataError(
            f"ingest() got _id={number}, which this generator did not give out. Leave _id out of "
            "points that it did not suggest."
        )

    def _count(self) -> None:
        for number in range(len(self._starts) - 1, len(self.optimizer.state.trials)):
            self._starts.append(self._starts[-1] + self._trial(number).n_requested)

    # -- ingesting ---------------------------------------------------------------------------

    def ingest(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Take the results of evaluations, in any order. If one is wrong, none is taken.

        The results are a list of dictionaries, or a data frame with a row for each.
        A result that is ingested again in a later call changes nothing. Several results with the
        same id in one call are several measurements of that point.
        """
        fresh: list[tuple[Asked | None, Result]] = []
        claimed: set[Asked] = set()
        for one in [Result.of(point, self._problem) for point in points_in(results)]:
            asked = self._asked_for(one, claimed)
            if asked is None:
                fresh.append((None, one))
            elif not self._is_known(asked, one):
                claimed.add(asked)
                fresh.append((asked, one))
        self._take(fresh)

    def catch_up(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Take all results of a run from a file, leaving out those that are known already.

        Numbers may be rounded to ten decimals. Points with ids that this run did not give out
        count as the user's.
        """
        others = self._without_id()
        fresh: list[tuple[Asked | None, Result]] = []
        claimed: set[Asked] = set()
        for one in [Result.of(point, self._problem) for point in points_in(results)]:
            try:
                asked = None if one.number is None else self._asked_for(one, claimed)
            except DataError:
                asked = None
            if asked is None or asked in claimed:
                at = next((i for i, other in enumerate(others) if _alike(one, other)), None)
                known = at is not None
                if at is not None:
                    del others[at]
            else:
                trial, repeat = self._trial(asked[0]), asked[1]
                known = repeat in trial.evaluations
                claimed.add(asked)
            if not known:
                fresh.append((asked, one))
        self._take(fresh)

    def finalize(self) -> None:
        """Release the journal. The next call that needs it opens it again."""
        if self._optimizer is not None:
            self._optimizer.close()

    def _asked_for(self, one: Result, claimed: set[Asked]) -> Asked | None:
        """Return what a result was asked for by; None for a point of the user."""
        if one.number is not None:
            trial, repeat = self._asked(one.number)
            if one.number in self._unseen:
                raise DataError(
                    f"ingest() got _id={one.number}, which suggest() has not returned yet. Leave "
                    "_id out of points that were not suggested."
                )
            if one.params is not None and not nearly(one.params, trial.params):
                raise DataError(
                    f"ingest() got {one.params!r} with _id={one.number}, which was suggested for "
                    f"{trial.params!r}. Leave _id out of points that were not suggested."
                )
            return trial.id, repeat
        x = self.optimizer.settings.space.encode(one.params or {})
        for trial in self.optimizer.state.open:
            free = [i for i in trial.missing if (trial.id, i) not in claimed]
            if free and trial.is_at(x):
                out = [i for i in free if self._number(trial.id, i) in self._given]
                return trial.id, (out or free)[0]
        return None

    def _is_known(self, asked: Asked, one: Result) -> bool:
        """Return whether a result was ingested before; raise an error if its value was another."""
        trial, repeat = self._trial(asked[0]), asked[1]
        if repeat not in trial.values:
            return False
        values = {v for i, v in trial.values.items() if i == repeat or i >= trial.n_requested}
        if one.value is None or one.value in values:
            return True
        raise DataError(
            f"ingest() got the value {one.value!r} of _id={one.number}, whose value "
            f"{trial.values[repeat]!r} it has already. Leave _id out of a new measurement."
        )

    def _take(self, results: Sequence[tuple[Asked | None, Result]]) -> None:
        taken: set[Asked] = set()
        for asked, one in results:
            where: int | dict[str, Any] = one.params or {}
            repeat = None
            if asked is not None:
                where, repeat = asked
                if asked in taken:
                    repeat = self._next_index(where)
                taken.add(asked)
            if one.value is None:
                self.optimizer.tell_failure(where, one.reason, repeat=repeat)
            else:
                outcomes = one.outcomes or None
                self.optimizer.tell(where, one.value, repeat=repeat, outcomes=outcomes)

    def _next_index(self, number: int) -> int:
        """Return a repeat index beyond those that were asked for, which have ids."""
        trial = self._trial(number)
        return max(trial.n_requested, trial.evaluations.end)

    def _without_id(self) -> list[Result]:
        """Return what was told of points, or of repeats, that have no id."""
        found: list[Result] = []
        for trial in self.optimizer.state.trials.values():
            found += [
                Result(None, trial.params, told.value, {})
                for i, told in trial.evaluations.items()
                if i >= trial.n_requested
            ]
        return found


def _alike(one: Result, other: Result) -> bool:
    """Return whether two results differ by rounding only."""
    mine, its = ({**(r.params or {}), "value": r.value} for r in (one, other))
    return nearly(mine, its)


def _check_names(settings: Mapping[str, Any]) -> None:
    """Refuse settings that the VOCS decides."""
    for name in (*IN_VOCS, *NOT_HERE):
        if name in settings:
            why = (
                "the VOCS decides it" if name in IN_VOCS else "points of a generator have no block"
            )
            raise SettingsError(f"RahboGenerator does not take {name}=: {why}. Leave it out.")
