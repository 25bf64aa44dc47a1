"""SMAC3: its facade with random forests, told the empirical MV, reporting its incumbent."""

from tempfile import TemporaryDirectory

from ConfigSpace import Configuration, ConfigurationSpace
from ConfigSpace import Float as ConfigFloat
from ConfigSpace import Integer as ConfigInteger
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

from contest.methods import Params, Peer, Report
from rahbo.space import Float, Int


def hyperparameter(name: str, kind: Float | Int) -> object:
    make = ConfigInteger if isinstance(kind, Int) else ConfigFloat
    return make(name, (kind.low, kind.high), log=kind.log)


class Smac(Peer):
    """One trial a point; the first are the common initial design."""

    def __init__(self, task: str, seed: int, k: int) -> None:
        super().__init__(task, seed, k)
        box = ConfigurationSpace(seed=seed)
        box.add([hyperparameter(name, kind) for name, kind in self.problem.space.items()])
        # SMAC keeps a history on disk; it goes when the run does.
        self.folder = TemporaryDirectory()
        scenario = Scenario(
            box, deterministic=True, n_trials=10_000, seed=seed, output_directory=self.folder.name
        )
        first = [Configuration(box, values=self.space.decode(x)) for x in self.design]
        self.facade = HyperparameterOptimizationFacade(
            scenario, _evaluated_elsewhere, overwrite=True, logging_level=40,
            initial_design=HyperparameterOptimizationFacade.get_initial_design(
                scenario, n_configs=0, additional_configs=first
            ),
        )  # fmt: skip

    def ask(self) -> tuple[Params, int]:
        self.info = self.facade.ask()
        return dict(self.info.config), self.k

    def tell(self, values: list[float], new: bool) -> None:
        self.facade.tell(self.info, TrialValue(cost=-self.score(values)))

    def report(self) -> Report:
        return Report(dict(self.facade.intensifier.get_incumbent()))

    def propose(self) -> None:
        raise NotImplementedError("The facade proposes.")


def _evaluated_elsewhere(config: Configuration, seed: int = 0) -> float:
    raise NotImplementedError("Evaluated by ask and tell.")


METHODS = {"smac": Smac}
