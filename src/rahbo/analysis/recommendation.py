"""What to tell the user: the recommended setting, and everything known about it.

Records here are in the user's units. `negated` turns a record of the maximised quantity into one
of the minimised quantity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np

from rahbo.analysis.aversion import Alternative, Aversion, aversion_of
from rahbo.analysis.blocks import BlockEffects
from rahbo.analysis.compliance import warning
from rahbo.analysis.gain import Gain, prospects
from rahbo.analysis.luck import Luckiest, luckiest_of
from rahbo.analysis.markup import paragraph, table
from rahbo.analysis.posterior import LEVEL
from rahbo.analysis.prediction import Prediction, predict
from rahbo.analysis.reportable import domain, legal, not_noise, told, worst
from rahbo.analysis.rivals import RunnerUp, bolder, runner_ups_of
from rahbo.analysis.rules import SCORES, Rule, best_scored, scores
from rahbo.analysis.unit import unsuited
from rahbo.analysis.wording import (
    advice,
    in_one_line,
    numbered,
    probability,
    scores_told_apart,
    settings_told_apart,
)
from rahbo.model import output_scale
from rahbo.numerics import Justified, brief
from rahbo.policy import NEGLIGIBLE, is_listed, limits, repeating, report_bound
from rahbo.state import State

# A sentence names a setting of at most so many parameters, and the trial of a longer one.
IN_LINE = 4
Tried = TypeVar("Tried", "Recommendation", RunnerUp, Alternative)
Counted = Literal["trial", "row"]


class Numbers(NamedTuple):
    """What trials are called where their values come from, such as another program or a table.

    Attributes:
        what: What the numbers count.
        of: For the id of each trial, the number of each of its values, or one for all of them.
    """

    what: Counted
    of: Mapping[int, Sequence[int]]


class Compared(NamedTuple):
    """A setting as texts, beside others.

    Attributes:
        setting: The setting.
        score: The value that decided, in enough digits to differ from that of the best.
        risk: The risk value.
        expected: The expected gain; empty for the recommended setting.
        bound: The bound of the gain; empty for the recommended setting.
    """

    setting: str
    score: str
    risk: str
    expected: str
    bound: str


@dataclass(frozen=True)
class Recommendation(Prediction):
    """The recommended setting.

    Attributes:
        rule: The rule that chose the setting.
        score: The value that the rule compares; for the default rule it is ``pessimistic``.
        n_evaluations: Number of values told at this setting.
        sample_mean: Mean of these values.
        sample_std: Standard deviation of these values; None for a single value.
        gain: What another setting of the whole space might still gain.
        runner_ups: Evaluated settings that could still be better, best score first, at most three.
            They are in other regions or categories than the recommended one and each other.
        p_best: Probability that no other setting of the list is better; None unless the space is a
            list, or finite and small.
        confirm: How many more measurements of the setting are advised before relying on it.
        blocks: How much blocks differ; None if no value belongs to one.
        n_elsewhere: How many of the values were told under conditions other than the context.
        trials: The trials that gave the values at this setting.
        numbered: What ``trials`` are numbers of: trials, or rows of a table.
        luckiest: The best single value, and what to expect instead.
        aversion: What the noise costs, and what another aversion to it would choose.
        scope: What to know about which settings were compared; empty if nothing.
        not_noise: What to know if repeats are not noise; empty otherwise.
        unsuited: What to know if alpha seems to be meant for another unit; empty otherwise.
    """

    rule: Rule
    score: float
    n_evaluations: int
    sample_mean: float
    sample_std: float | None
    gain: Gain
    runner_ups: tuple[RunnerUp, ...]
    p_best: float | None
    confirm: int
    blocks: BlockEffects | None = field(default=None, metadata={"if_used": True})
    n_elsewhere: int = field(default=0, metadata={"if_used": True})
    trials: tuple[int, ...] = ()
    numbered: Counted = "trial"
    luckiest: Luckiest | None = None
    aversion: Aversion | None = None
    scope: str = field(default="", metadata={"if_used": True})
    not_noise: str = field(default="", metadata={"if_used": True})
    unsuited: str = field(default="", metadata={"if_used": True})

    def negated(self) -> Self:
        """Return the record of the negated objective."""
        return replace(
            super().negated(),
            score=-self.score,
            sample_mean=-self.sample_mean,
            runner_ups=tuple(other.negated() for other in self.runner_ups),
            blocks=None if self.blocks is None else self.blocks.negated(),
            luckiest=None if self.luckiest is None else self.luckiest.negated(),
            aversion=None if self.aversion is None else self.aversion.negated(),
        )

    def told_as(
        self,
        numbers: Numbers | None = None,
        params: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
    ) -> Recommendation:
        """Return the record with the numbers and parameters of where the values come from.

        Args:
            numbers: What the trials are called there; None to keep their ids.
            params: Returns the parameters of a tried setting as they are called there.
        """

        def of(trial: int) -> Sequence[int]:
            return numbers.of.get(trial, (trial,)) if numbers else (trial,)

        def moved(tried: Tried) -> Tried:
            trials = tuple(number for trial in tried.trials for number in of(trial))
            return replace(tried, params=params(tried.params), trials=trials)

        luckiest, aversion = self.luckiest, self.aversion
        if luckiest is not None:
            own = of(luckiest.trial)
            number = own[min(luckiest.repeat, len(own) - 1)]
            luckiest = replace(luckiest, trial=number, params=params(luckiest.params))
        if aversion is not None:
            less, more = (one and moved(one) for one in (aversion.less, aversion.more))
            aversion = replace(aversion, less=less, more=more)
        return replace(
            moved(self),
            numbered=numbers.what if numbers else self.numbered,
            luckiest=luckiest,
            aversion=aversion,
            runner_ups=tuple(map(moved, self.runner_ups)),
        )

    # -- in words ----------------------------------------------------------------------------

    @property
    def tried_in(self) -> str:
        """The trials or rows that gave the values at this setting; empty if they are not known."""
        return numbered(self.numbered, self.trials) if self.trials else ""

    @property
    def measured(self) -> str:
        """How often the setting was measured."""
        n = self.n_evaluations
        return ("once" if n == 1 else f"{n:,} times") + self.elsewhere

    @property
    def elsewhere(self) -> str:
        """What to add to the number of values if some were told under other conditions."""
        if not self.n_elsewhere:
            return ""
        some = f" {self.n_elsewhere} of them" if self.n_elsewhere < self.n_evaluations else ""
        return f",{some} under other conditions"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say, the most important first.

        Everything that shows a recommendation shows these.
        """
        sure = str(self.gain) if self.feasible else ""
        if self.p_best is not None and self.feasible:
            sure += f" It is the best of the list with probability {probability(self.p_best)}."
        luck = "" if self.luckiest is None else self.luckiest.sentence(self.numbered)
        doubts = (self.warning, self.not_noise, self.unsuited)
        return tuple(filter(None, (*doubts, sure, self.scope, luck, self._aversion, self.advice)))

    @property
    def advice(self) -> str:
        """Advice on what to do before relying on the setting; empty if there is none."""
        return advice(self.confirm, "this setting")

    @property
    def warning(self) -> str:
        """What to know if no setting is sure to keep every limit; empty otherwise."""
        return warning(self.constraints)

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The recommended setting and the runner-ups as texts, with the values that decided."""
        show, ours = self.risk_digits, self._all_shown[0]
        own = Compared(in_one_line(ours), show.text(self.score), show.text(self.risk), "", "")
        return own, *(
            Compared(
                in_one_line(shown), scores_told_apart(show, other.score, self.score)[0],
                show.text(other.risk), brief(other.gain.expected), other.gain.most,
            )
            for other, shown in zip(self.runner_ups, self._all_shown[1:], strict=True)
        )  # fmt: skip

    @property
    def _aversion(self) -> str:
        """What the noise costs, and what another aversion would choose."""
        if self.aversion is None:
            return ""
        digits = self.risk_digits
        if self.aversion.certain == self.mean:
            digits = Justified.by(self.mean, self.mean_interval)
        others = self.aversion.alternatives
        shown = settings_told_apart([self.params, *(other.params for other in others)])
        texts = [
            in_one_line(text) if len(text) <= IN_LINE else numbered(self.numbered, other.trials)
            for text, other in zip(shown[1:], others, strict=True)
        ]
        return self.aversion.sentence(digits, texts)

    @property
    def _all_shown(self) -> list[dict[str, str]]:
        """The setting and the runner-ups as texts."""
        return settings_told_apart([self.params, *(other.params for other in self.runner_ups)])

    @property
    def _shown(self) -> dict[str, str]:
        return self._all_shown[0]

    def __str__(self) -> str:
        first, *lines = super().__str__().splitlines()
        lines.insert(0, f"{first}   ({self.tried_in})" if self.trials else first)
        if self.rule != "pessimistic":
            score = self.risk_digits.text(self.score)
            lines.append(f"score      {score:>12}   {SCORES[self.rule]}, decided the choice")
        elif self.feasible:
            lines[-1] += "   decided the choice"
        times = "time" if self.n_evaluations == 1 else "times"
        lines.append(f"measured   {self.n_evaluations:>12d}   {times}{self.elsewhere}")
        if self.blocks is not None:
            lines.append(self.blocks.summary)
        pairs = zip(self.runner_ups, self._all_shown[1:], strict=True)
        digits = self.risk_digits
        others = (other.line(digits, shown, self.rule, self.score) for other, shown in pairs)
        return "\n".join([*lines, *self.sentences, *(f"runner-up  {other}" for other in others)])

    def _repr_html_(self) -> str:
        show = self.risk_digits
        said = [f"Measured {self.measured}{f' ({self.tried_in})' * bool(self.trials)}."]
        if self.rule != "pessimistic":
            said.append(f"Its {SCORES[self.rule]}, {show.text(self.score)}, decided the choice.")
        if self.blocks is not None:
            std, low, high = self.blocks.std_interval.texts(self.blocks.std)
            said.append(f"Blocks differ with a standard deviation of {std} ({low} to {high}).")
        found = super()._repr_html_() + paragraph(" ".join((*said, *self.sentences)))
        if not self.runner_ups:
            return found
        bound = f"{100 * self.level:g} % bound of gain"
        head = ["", SCORES[self.rule], "risk value", "expected gain", bound, "setting"]
        names = ["recommended", *["runner-up"] * len(self.runner_ups)]
        rows = [
            (name, *one[1:], one.setting) for name, one in zip(names, self.compared, strict=True)
        ]
        return found + table(head, rows)


def recommend(state: State, rule: Rule = "pessimistic", level: float = LEVEL) -> Recommendation:
    """Return the point that a rule reports, in the sense of maximisation.

    Args:
        state: What the run knows.
        rule: As for `choose`.
        level: Probability of each interval and of the bound on the gain.
    """
    observations, space = told(state).observations, told(state).space
    X, score = observations.X, scores(rule, state)
    order = best_scored(score)
    i = int(order[0])
    found = prospects(state.model, state.risk, domain(state), X[order], state.settings.seed)
    s2, shortfall = observations.sample_var[i], found.shortfall(X[i])
    n, n_here = int(observations.count[i]), int(told(state).count_here[i])
    trials, rows = told(state).trials_at(X[i]), np.flatnonzero(legal(state))
    (here,) = predict(
        report_bound(state), state.risk, X[[i]], [space.decode(X[i])], level, limits(state)
    )
    return Recommendation(
        **vars(here),
        rule=rule,
        score=here.pessimistic if rule == "pessimistic" else float(score[i]),
        n_evaluations=n,
        sample_mean=float(observations.mean[i]),
        sample_std=None if math.isnan(s2) else float(np.sqrt(s2)),
        gain=Gain.of(shortfall, level),
        runner_ups=runner_ups_of(state, score, i, found, level),
        p_best=float(np.mean(shortfall <= 0.0)) if is_listed(space) else None,
        confirm=to_confirm(state, n_here, here.noise_std) if repeating(state).confirmed else 0,
        blocks=BlockEffects.of(state.model, level),
        n_elsewhere=n - n_here,
        trials=trials,
        luckiest=luckiest_of(state, trials),
        aversion=aversion_of(
            state,
            i,
            rows,
            worst(state),
            (here.mean, here.noise_std),
            space.decode,
            settled=legal(state)[i] and bolder(state, i) is None,
        ),
        scope=space.scope,
        not_noise=not_noise(state),
        unsuited=unsuited(state),
    )


def to_confirm(state: State, n: int, noise_std: float) -> int:
    """Return how many measurements a point with ``n`` lacks; 0 if its noise is known or small."""
    quiet = noise_std <= NEGLIGIBLE * output_scale(told(state).observations)
    if quiet or state.model.settings.noise.is_known:
        return 0
    return max(0, repeating(state).confirmed - n)
