import numpy as np
import pytest

import constrained
from page_runs import run
from rahbo import AtMost, Method
from rahbo.pages import history, history_of
from rahbo.policy import GPUCB, TopTwo


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("strategy", [TopTwo(), GPUCB()])
def test_it_ends_with_what_is_believed_now(direction, strategy):
    optimizer = run(direction=direction, method=Method(strategy=strategy))
    optimizer.tell_failure({"lr": 0.01, "depth": 3, "kind": "a"}, "broke")
    found = history_of(optimizer)
    assert (len(found.number), found.failed, found.n) == (36, [37], 37)
    assert found.value[:3] == pytest.approx(list(optimizer.trials[0].values.values()), rel=1e-5)
    assert found.best_at == list(range(3, 37, 3))
    assert found.best[-1] == pytest.approx(optimizer.recommend().pessimistic)


def test_long_runs_are_thinned_with_both_ends_kept(monkeypatch):
    monkeypatch.setattr(history, "MOST", 10)
    monkeypatch.setattr(history, "TIMES", 4)
    monkeypatch.setattr(history, "FEWEST", 4)
    found = history_of(run())
    assert len(found.number) == 10
    assert (found.number[0], found.number[-1], found.n) == (1, 36, 36)
    assert len(found.best) == 4
    assert np.isfinite(found.best).all()


def test_only_settings_that_keep_their_limits_count():
    optimizer = constrained.told(25)
    found = history_of(optimizer)
    assert found.best[-1] == pytest.approx(optimizer.recommend().pessimistic)
    assert found.best[-1] < max(p.pessimistic for p in optimizer.frontier().evaluated)
    broken = history_of(constrained.told(8, constraints={"cost": AtMost(-1.0)}))
    assert (len(broken.value), broken.best_at, broken.best) == (8, [], [])
