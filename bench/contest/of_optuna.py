"""Optuna: one trial a point, told the empirical MV of its repeats, reporting its best trial."""

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from contest.methods import N_INITIAL, Params, Peer, Report
from rahbo.space import Float, Int


def distribution(kind: Float | Int) -> BaseDistribution:
    make = IntDistribution if isinstance(kind, Int) else FloatDistribution
    return make(kind.low, kind.high, log=kind.log)


class Optuna(Peer):
    """A study whose first trials are the common initial design."""

    def __init__(self, task: str, seed: int, k: int) -> None:
        super().__init__(task, seed, k)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler())
        self.box = {name: distribution(kind) for name, kind in self.problem.space.items()}
        for x in self.design:
            self.study.enqueue_trial(self.space.decode(x))

    def sampler(self) -> optuna.samplers.BaseSampler:
        raise NotImplementedError

    def ask(self) -> tuple[Params, int]:
        self.trial = self.study.ask(self.box)
        return dict(self.trial.params), self.k

    def tell(self, values: list[float], new: bool) -> None:
        self.study.tell(self.trial, self.score(values))

    def report(self) -> Report:
        return Report(self.study.best_trial.params)

    def propose(self) -> None:
        raise NotImplementedError("The study proposes.")


class GPSampler(Optuna):
    def sampler(self) -> optuna.samplers.BaseSampler:
        return optuna.samplers.GPSampler(
            seed=self.seed, n_startup_trials=N_INITIAL, deterministic_objective=False
        )


class TPESampler(Optuna):
    def sampler(self) -> optuna.samplers.BaseSampler:
        return optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=N_INITIAL)


METHODS = {"optuna-gp": GPSampler, "optuna-tpe": TPESampler}
