"""scikit-learn: a search that runs one fold of a candidate at a time."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rahbo.errors import ExhaustedError
from rahbo.integrations.fold_tables import Fit, Folds, FoldTable
from rahbo.numerics import Array
from rahbo.optimizer import Optimizer
from rahbo.policy import Contest, share_of
from rahbo.state import State
from rahbo.trials import LARGEST_VALUE, Suggestion


class PairedFolds(Optimizer):
    """An optimizer that does not ask for a candidate again once a fold of it has failed."""

    def excluded(self) -> Set[bytes]:
        """Return the points that failed."""
        return {trial.x.tobytes() for trial in self.trials if trial.failures}

    def _contest(self, state: State) -> tuple[Array, Contest]:
        """Return the candidates in the contest. Each wants all folds, however many there are."""
        X, contest = super()._contest(state)
        return X, replace(contest, wanted=contest.most or contest.wanted)


def best_complete_row(results: Mapping[str, Any], metric: str) -> int | None:
    """Return the row with the best pessimistic bound among those that have all folds.

    Only such a row has a mean, which scikit-learn reports. If there is none, a warning is given and
    None is returned.

    Args:
        results: A table in scikit-learn's form.
        metric: The metric to search by.
    """
    whole = np.isfinite(results[f"mean_test_{metric}"])
    if not whole.any():
        warnings.warn(
            "No candidate has a score in all folds, so the best one is the model's recommendation, "
            "and its mean score is NaN. See why fits fail, or raise n_iter.",
            UserWarning,
            stacklevel=2,
        )
        return None
    return int(np.argmax(np.where(whole, results[f"pessimistic_test_{metric}"], -np.inf)))


def asked(optimizer: Optimizer, n: int) -> list[Suggestion]:
    """Return the next ``n`` suggestions, or fewer if a finite space is exhausted."""
    found: list[Suggestion] = []
    with suppress(ExhaustedError):
        while len(found) < n:
            found.append(optimizer.ask())
    return found


@dataclass(frozen=True, eq=False)
class FoldSearch:
    """A search that runs one fold of a candidate at a time.

    Attributes:
        optimizer: Chooses candidates and folds.
        folds: The folds.
        table: What came of the fits.
        evaluate: Returns the fits of candidates on the current fold.
        refit: The metric to search by, if there are several.
    """

    optimizer: PairedFolds
    folds: Folds
    table: FoldTable
    evaluate: Callable[[list[dict[str, Any]]], list[Fit]]
    refit: object

    def run(self, budget: int, batch: int) -> None:
        """Spend a budget of fits, the last of them on the folds that the leaders lack.

        The first batch is the initial design. If no candidate lacks a fold, new ones are tried. If
        the leader lacks folds at the end, it gets them too, with up to one fit less than there are
        folds.
        """
        optimizer = self.optimizer
        # The first candidates need as many fits as there are folds, even if nothing else is left.
        kept = min(max(self.folds.n_splits, share_of(budget)), budget - self.folds.n_splits)
        left, size = budget - kept, optimizer.settings.n_initial
        while left > 0 and (new := asked(optimizer, min(size, left))):
            left -= self._fit(new, left)
            size = batch
        left += kept
        while left > 0 and any(trial.n_values for trial in optimizer.trials):
            made = self._fit(optimizer.confirm(min(batch, left)), left)
            made = made or self._fit(asked(optimizer, 1), left)
            if made == 0:
                return
            left -= made
        if any(trial.n_values for trial in optimizer.trials) and optimizer.unconfirmed:
            missing = optimizer.unconfirmed
            self._fit(optimizer.confirm(missing), missing)

    def _fit(self, suggestions: Sequence[Suggestion], most: int) -> int:
        """Evaluate suggestions on their folds, at most so many fits. Return how many were made."""
        by_fold: defaultdict[int, list[tuple[Suggestion, int]]] = defaultdict(list)
        made = 0
        for suggestion in suggestions:
            paired = list(zip(suggestion.indices, suggestion.blocks, strict=True))
            for repeat, block in paired[: most - made]:
                by_fold[int(block)].append((suggestion, repeat))
            if len(paired) > most - made:
                self.optimizer.cancel(suggestion)
            made += min(len(paired), most - made)
        for self.folds.fold, group in sorted(by_fold.items()):
            fits = self.evaluate([suggestion.params for suggestion, _ in group])
            for (suggestion, repeat), fit in zip(group, fits, strict=True):
                self.table.keep(suggestion.params, self.folds.fold, fit)
                score = self.table.score(fit, self.refit)
                if abs(score) <= LARGEST_VALUE:
                    self.optimizer.tell(suggestion, score, repeat=repeat)
                else:
                    self.optimizer.tell_failure(suggestion, "a fold has no score", repeat=repeat)
        return made
