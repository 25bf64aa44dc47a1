"""Many races at the same time, with noise from a generator: how a rule does, and its bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rahbo.numerics import Array, FixedStream, Index, fixed_generator
from rahbo.race.choice import FIRST, Rule, State, lead_of, next_entrant, state_of
from rahbo.race.evidence import Tally

# Simulated races of one estimate of bias, how often it is refined, and the most work for it.
RACES, ROUNDS, MOST_VALUES = 300, 2, 400_000

# Returns a value for each pair of a race and an entrant.
Draw = Callable[[Index, Index], Array]
Chooser = Callable[[Tally, State, int], Index]


@dataclass(frozen=True, eq=False)
class Ended:
    """How simulated races ended, each array ``(R,)``.

    Attributes:
        winner: Who was called; -1 for nobody.
        runs: How many values it took.
        lead: The lead of the winner over the second, not corrected for bias.
        seconds: Who was second, by each half of the values, ``(2, R)``.
    """

    winner: Index
    runs: Index
    lead: Array
    seconds: Index


def by_rule(tally: Tally, state: State, step: int) -> Index:
    """Choose the entrant that decides most."""
    return next_entrant(tally, state)


def simulate(
    draw: Draw, races: int, entrants: int, runs: int, rule: Rule, choose: Chooser = by_rule
) -> Ended:
    """Run races until each is decided or has spent its runs.

    Args:
        draw: Draws values.
        races: How many races.
        entrants: Entrants in each.
        runs: The most values of one race.
        rule: When a race is decided.
        choose: Chooses the entrant to run next.
    """
    tally, all_races = Tally.empty(races, entrants), np.arange(races)
    for step in range(FIRST * entrants):
        each = np.full(races, step % entrants)
        tally.add(all_races, each, draw(all_races, each))
    ended = Ended(
        np.full(races, -1), np.full(races, runs), np.full(races, np.nan), np.zeros((2, races), int)
    )
    left = all_races
    for step in range(FIRST * entrants, runs + 1):
        now = tally.take(left)
        state = state_of(now, rule)
        done = state.decided(rule)
        called = left[done]
        lead, seconds = lead_of(now, state.focus)
        ended.winner[called], ended.runs[called] = state.focus[done], step
        ended.lead[called], ended.seconds[:, called] = lead[done], seconds[:, done]
        chosen = choose(now, state, step)[~done]
        left = left[~done]
        if not len(left) or step == runs:
            break
        tally.add(left, chosen, draw(left, chosen))
    return ended


def _gaussian(means: Array, stds: Array, rng: np.random.Generator) -> Draw:
    def draw(races: Index, entrants: Index) -> Array:
        noise = stds[entrants] * rng.standard_normal(len(entrants))
        return np.asarray(means[entrants] + noise)

    return draw


def stopping_bias(
    means: Array, stds: Array, winner: int, lead: float, rule: Rule, runs: int
) -> float:
    """Return how much too large the lead of a winner is, because the race ended when it was large.

    Races are simulated with Gaussian noise and the means that were found, then again with the mean
    of the winner corrected. Races that another entrant wins do not count.

    Args:
        means: The means of the entrants, ``(k,)``.
        stds: The standard deviations of their noise, ``(k,)``.
        winner: The number of the winner.
        lead: Its lead.
        rule: When a race is decided.
        runs: How many values the race had.
    """
    k, bias = len(means), 0.0
    rng = fixed_generator(FixedStream.RACES)
    most = 4 * runs
    races = max(50, min(RACES, MOST_VALUES // most))
    for _ in range(ROUNDS):
        truth = means.copy()
        truth[winner] -= bias
        ended = simulate(_gaussian(truth, stds, rng), races, k, most, rule)
        same = ended.winner == winner
        if not same.any():
            return bias
        true_lead = truth[winner] - truth[ended.seconds[:, same]].mean(axis=0)
        bias = min(float((ended.lead[same] - true_lead).mean()), lead)
    return bias
