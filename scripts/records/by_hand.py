"""Runs that ask and tell by hand: in batches, out of order, with suggestions left open."""

import pickle
import tempfile
from pathlib import Path
from typing import Any

from records.known import Record, answer, exact, journal_of, known
from records.objectives import AT_BOTH, AT_MOST, PLANE, WARM, folded, hill, limited, lossy, warm

from rahbo import Optimizer


def tell(opt: Optimizer, asked: Any, objective: Any) -> None:
    """Tell the values of a suggestion, the last repeat first, or one of a point never asked for."""
    if isinstance(asked, dict):
        opt.tell(asked, objective(**asked, seed=77))
        return
    blocks = dict(zip(asked.indices, asked.blocks, strict=False))
    for i in reversed(asked.indices):
        extra = {"block": blocks[i]} if blocks else {"seed": 100 * asked.id + i}
        opt.tell(asked, objective(**asked.params, **extra), repeat=i)


def batches(seed: int, objective: Any = hill, told: str = "value", **settings: Any) -> Record:
    """Ask for four at once and tell them out of order, some late, some failed or cancelled."""
    opt, late = Optimizer(PLANE, seed=seed, **settings), []
    given: list[Any] = []
    for i in range(5):
        *asked, last = opt.ask(4)
        given.append(exact([*asked, last]))
        for one in [*late, *reversed(asked)]:
            tell(opt, one, objective)
        late = [last]
        if i == 2:
            opt.cancel(late.pop())
        if i == 3:
            opt.tell_failure(late.pop(), "the door was open")
    tell(opt, {"x": 0.7, "y": 0.1}, objective)
    given.append(answer(opt.confirm, 5))
    for one in opt.open[::-1]:
        if one.id % 2:
            tell(opt, one, objective)
    return {"given": given, **known(opt)}


def batches_of_blocks(seed: int) -> Record:
    """Ask for several blocks at once, and tell some by their names alone."""
    opt = Optimizer(PLANE, seed=seed, blocks=["jan", "feb", "mar"])
    for i in range(6):
        for one in reversed(opt.ask(3)):
            if i == 3:
                opt.cancel(one)
                opt.tell(one.params, folded(**one.params, block="feb"), block="feb")
            else:
                tell(opt, one, folded)
    return known(opt)


def limits_by_hand(seed: int) -> Record:
    """Tell outcomes with the values, after them, or not at all."""
    opt = Optimizer(PLANE, seed=seed, constraints=AT_BOTH)
    for i in range(12):
        one = opt.ask()
        told = [limited(**one.params, seed=10 * i + j) for j in one.indices]
        values = [found.pop("value") for found in told]
        outcomes = {name: [found[name] for found in told] for name in told[0]}
        if i % 3 == 0:
            opt.tell(one, values, outcomes=outcomes)
            continue
        opt.tell(one, values, outcomes={"loss": outcomes["loss"], "power": [None] * len(values)})
        if i % 3 == 1:
            opt.tell(one, values[0], repeat=0, outcomes={"power": outcomes["power"][0]})
    return known(opt)


def conditions_by_hand(seed: int) -> Record:
    """Leave suggestions open while the conditions change, and go on from the trials."""
    opt = Optimizer(WARM, seed=seed)
    for i in range(9):
        first, _left = opt.ask(2, context={"warmth": 14.0 + 6 * (i // 2 % 3), "line": "left"})
        tell(opt, first, warm)
        if i % 3 == 2:
            opt = Optimizer(WARM, seed=seed, trials=opt.trials)
    return known(opt, context={"warmth": 20.0, "line": "left"})


def copied(seed: int) -> Record:
    """Go on with a copy of an optimizer that has suggestions open."""
    opt = Optimizer(PLANE, seed=seed, blocks=3)
    for i in range(12):
        first, second = opt.ask(2)
        tell(opt, first, folded)
        if i % 4 == 3:
            opt = pickle.loads(pickle.dumps(opt))
            tell(opt, second, folded)
    return known(opt)


def resumed(seed: int) -> Record:
    """Ask by hand with a journal, and resume from it with suggestions open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        opt = Optimizer(PLANE, seed=seed, journal=path, constraints=AT_MOST)
        for _ in range(8):
            first, _left = opt.ask(2)
            tell(opt, first, lossy)
        opt.close()
        opt = Optimizer.resume(path)
        for one in opt.ask(4):
            tell(opt, one, lossy)
        opt.tell_failure(opt.ask(), "no light")
        lines = journal_of(path)
        found = {**known(opt), "journal": lines}
        opt.close()
        return found
