"""Each strategy proposes by its own bound and reports by its own bound."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

import presets
import rahbo
from bands import bands
from rahbo.model import Matern52
from rahbo.policy import (
    GPUCB,
    Domain,
    Rahbo,
    RahboUS,
    RandomSearch,
    TopTwo,
    Turn,
)
from rahbo.policy import acquisition as acq
from rahbo.space import Candidates, Categorical, Int, Space
from rahbo.trials import Trial

LINE = {"x": (0.0, 1.0)}
GRID = np.linspace(0.0, 1.0, 4001)[:, None]
LEARNING = 3


def told(seed, risk, preset=()):
    """A run on a line whose right half is noisy, after 8 to 15 points."""
    rng = np.random.default_rng([1, seed])
    data = []
    for x in rng.random(8 + seed):
        f = np.sin(7 * x + seed) + 0.5 * np.cos(17 * x)
        data.append(({"x": float(x)}, list(f + (0.05 + 0.6 * x**2) * rng.standard_normal(4))))
    settings = {**dict(preset), "risk": risk}
    return rahbo.Optimizer(LINE, seed=seed, data=data, **settings)


def turn(opt, rounds=0, seed=0, risk=None):
    state = opt.state
    if risk is not None:
        state = replace(state, settings=replace(state.settings, risk=risk))
    for _ in range(rounds):
        state = state.told(Trial(len(state.trials), {}, opt.observations.X[0], 0, "strategy"))
    domain = Domain(opt.settings.space, opt.observations.best_first(), frozenset())
    return Turn(state, opt.model, domain, np.random.default_rng(seed))


def user_units(opt, X):
    """Bounds of f and of the noise variance in the user's units."""
    b, units = bands(opt.model, X), opt.model.units
    f = {key: units.shift + units.scale * getattr(b, key) for key in ("f_lower", "f_upper")}
    noise = ("noise_var", "noise_lower", "noise_upper")
    return f | {key: units.scale**2 * getattr(b, key) for key in noise}


def assert_maximises(x, bound):
    """The bound at the proposal is the largest on the grid, to a thousandth of its spread."""
    on_grid, here = bound(GRID), bound(x[None])[0]
    assert x.shape == (1,)
    assert here >= on_grid.max() - 1e-3 * np.ptp(on_grid)


PRESETS = {"default": {}, "paper": presets.paper()}


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_rahbo_maximises_ucb_f_less_alpha_lcb_var(seed, alpha, preset):
    opt = told(seed, rahbo.MeanVariance(alpha), preset)

    def bound(X):
        b = user_units(opt, X)
        return b["f_upper"] - alpha * b["noise_lower"]

    assert_maximises(Rahbo().propose(turn(opt)), bound)


@pytest.mark.parametrize("seed", range(4))
def test_rahbo_maximises_the_optimistic_mean_less_std(seed):
    opt = told(seed, rahbo.MeanStd(1.5))

    def bound(X):
        b = user_units(opt, X)
        return b["f_upper"] - 1.5 * np.sqrt(b["noise_lower"])

    assert_maximises(Rahbo().propose(turn(opt)), bound)


def settled(space=LINE):
    """A run that knows a peak at 0.5 well, and too little of the rest to be interested in it."""
    data = [
        ({"x": x}, [1.0 - 8.0 * (x - 0.5) ** 2 + 0.05 * i for i in (-1, 0, 1)])
        for x in np.arange(30, 71, 5) / 100
    ]
    return rahbo.Optimizer(space, seed=0, data=data)


def correlation(opt, x, z):
    kernel = opt.model.mean.kernel
    return float(kernel(x[None], z[None])[0, 0] / kernel.variance)


@pytest.mark.slow
def test_top_two_is_rahbo_where_that_is_not_beside_the_leader():
    elsewhere = 0
    for seed in range(8):
        opt = told(seed, rahbo.MeanVariance(1.0))
        x = Rahbo().propose(turn(opt))
        leader = opt.settings.space.encode(opt.recommend().params)
        if correlation(opt, x, leader) < 0.95:
            elsewhere += 1
            assert correlation(opt, TopTwo().propose(turn(opt)), x) > 0.9999
    assert elsewhere >= 2


@pytest.mark.slow
def test_top_two_challenges_a_leader_every_other_time():
    opt = settled()
    plain = [Rahbo().propose(turn(opt, seed=s)) for s in range(40)]
    assert all(abs(x[0] - 0.5) < 0.1 for x in plain)
    chosen = [TopTwo().propose(turn(opt, seed=s)) for s in range(40)]
    away = [x for x in chosen if correlation(opt, x, np.array([0.5])) < 0.95]
    assert 10 <= len(away) <= 30
    bound = acq.optimistic(opt.model, opt.settings.risk)
    for x in away:
        wider = [bound.widened(width) for width in (2.0, 4.0)]
        shortfall = [np.max(w.value(GRID)) - w.value(x[None])[0] for w in wider]
        assert min(shortfall) < 1e-6


def test_a_challenger_in_a_list_is_the_best_under_a_wider_bound():
    grid = [{"x": float(x)} for x in np.linspace(0.0, 1.0, 41)]
    data = [(p, [1.0 - 8.0 * (p["x"] - 0.5) ** 2 + 0.05 * i for i in (-1, 0, 1)])
            for p in grid[12:29:2]]  # fmt: skip
    opt = rahbo.Optimizer(Candidates(grid), seed=0, data=data)
    bound, every = acq.optimistic(opt.model, opt.settings.risk), opt.settings.space.enumerate()
    first, wide, wider = (every[int(np.argmax(bound.widened(w).value(every)))] for w in (1, 2, 4))
    leader = opt.settings.space.encode(opt.recommend().params)
    assert correlation(opt, first, leader) >= 0.95
    challenger = wide if correlation(opt, wide, leader) < 0.95 else wider
    chosen = {float(TopTwo().propose(turn(opt, seed=s))[0]) for s in range(20)}
    assert correlation(opt, challenger, leader) < 0.95
    assert chosen == {float(first[0]), float(challenger[0])}


def surprised(**settings):
    """A flat, noisy line with one value far above all others, and a mean that hardly moves."""
    rng = np.random.default_rng(0)
    data = [({"x": float(x)}, list(rng.standard_normal(2))) for x in np.linspace(0.0, 1.0, 12)]
    data.append(({"x": 0.51}, [9.0]))
    settings = {"space": LINE, "method": rahbo.Method(kernel=Matern52([3.0], 0.05))} | settings
    return rahbo.Optimizer(seed=0, data=data, **settings)


def test_top_two_looks_again_at_a_value_too_good_to_be_believed():
    opt = surprised()
    first = opt.ask()
    assert first.params == {"x": 0.51}
    # Once it is under way, something else comes; once it is told, it is an ordinary point.
    assert all(s.params != first.params for s in opt.ask(6))
    opt.tell(first, 9.2)
    assert opt.ask().params != first.params


@pytest.mark.parametrize("give_up", ["tell_failure", "cancel"])
def test_top_two_looks_again_only_once(give_up):
    opt = surprised()
    first = opt.ask()
    getattr(opt, give_up)(first)
    assert all(opt.ask().params != first.params for _ in range(5))


def test_top_two_looks_again_only_where_it_may():
    rows = [{"x": float(x)} for x in [*np.linspace(0.0, 1.0, 12), 0.51, 0.52]]
    asked = {}
    for revisit in (True, False):
        space = Candidates(rows, revisit=revisit)
        opt = surprised(space=space, repeats=rahbo.Adaptive(min=1, max=1))
        asked[revisit] = opt.ask().params
    assert asked == {True: {"x": 0.51}, False: {"x": 0.52}}


def test_a_narrow_space_is_searched_where_random_points_find_nothing():
    rng = np.random.default_rng(0)
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    data = [({"x": x, "y": x}, list(rng.standard_normal(2))) for x in np.linspace(0.0, 1.0, 12)]
    for seed in range(6):
        opt = rahbo.Optimizer(
            space, seed=seed, data=data, valid=lambda p: abs(p["x"] - p["y"]) < 1e-6
        )
        assert abs(np.subtract(*opt.ask().params.values())) < 1e-6


@pytest.mark.slow
def test_a_candidate_list_is_not_left_for_its_favourite():
    rng = np.random.default_rng(0)
    rows = [{"x": float(x), "y": float(y)} for x, y in rng.random((60, 2))]

    def run(strategy):
        opt = rahbo.Optimizer(Candidates(rows), seed=1, method=rahbo.Method(strategy=strategy))
        for _ in range(50):
            s = opt.ask()
            f = np.sin(8 * s.params["x"]) * np.cos(8 * s.params["y"])
            noise = np.random.default_rng(s.id).standard_normal(s.repeats)
            opt.tell(s, list(f + 0.05 * noise))
        return opt.observations.n

    assert run(TopTwo()) > 1.5 * run(Rahbo())


def test_the_leader_is_a_point_that_may_be_reported():
    data = [({"x": x}, [1.0 - 8.0 * (x - 0.3) ** 2 + 0.05 * i for i in (-1, 0, 1)])
            for x in np.linspace(0.1, 0.5, 9)]  # fmt: skip
    data.append(({"x": 0.95}, [9.0, 9.1, 9.05]))
    opt = rahbo.Optimizer(LINE, seed=0, data=data, valid=lambda p: p["x"] < 0.9)
    x = Rahbo().propose(turn(opt))
    leader = opt.settings.space.encode(opt.recommend().params)
    assert leader[0] < 0.9
    if correlation(opt, x, leader) >= 0.95:
        away = [TopTwo().propose(turn(opt, seed=s)) for s in range(20)]
        assert any(correlation(opt, z, leader) < 0.95 for z in away)


def measured(params, rng, n):
    """A peak at x = 0.6 whose noise grows with x."""
    f = 1.0 - 4.0 * (params["x"] - 0.6) ** 2
    return list(f + (0.02 + 0.1 * params["x"]) * rng.standard_normal(n))


MIXED = {"x": (0.0, 1.0), "n": Int(1, 3000), "c": Categorical(["a", "b", "c"])}
LISTED = Candidates([{"x": float(x), "k": k} for x in np.linspace(0.0, 1.0, 21) for k in "ab"])


@pytest.mark.slow
@pytest.mark.parametrize("space", [MIXED, LISTED, {"x": (0.0, 1.0), "y": (0.0, 1.0)}],
                         ids=["mixed", "list", "square"])  # fmt: skip
def test_a_journal_goes_on_bit_for_bit(space, tmp_path):
    def go_on(opt, rounds):
        for _ in range(rounds):
            s = opt.ask()
            opt.tell(s, measured(s.params, np.random.default_rng(s.id), s.repeats))
        return [(t.params, t.own_bound, t.n_requested) for t in opt.trials]

    settings = {"seed": 5, "n_initial": 4}
    n = 6 if space is MIXED else 10
    whole = go_on(rahbo.Optimizer(space, **settings), n)
    path = tmp_path / "run.jsonl"
    first = rahbo.Optimizer(space, journal=path, **settings)
    go_on(first, 5)
    first.close()
    resumed = rahbo.Optimizer.resume(path)
    assert go_on(resumed, n - 5) == whole
    resumed.close()


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("seed", range(3))
def test_rahbo_us_learns_the_noise_then_trusts_its_mean(seed, preset):
    opt = told(seed, rahbo.MeanVariance(3.0), preset)

    def uncertainty(X):
        return opt.model.noise.latent(X)[1]

    def bound(X):
        b = user_units(opt, X)
        return b["f_upper"] - 3.0 * b["noise_var"]

    strategy = RahboUS(learning_rounds=LEARNING)
    for rounds in range(LEARNING):
        assert_maximises(strategy.propose(turn(opt, rounds)), uncertainty)
    for rounds in (LEARNING, LEARNING + 20):
        assert_maximises(strategy.propose(turn(opt, rounds)), bound)
    assert_maximises(RahboUS(0).propose(turn(opt, 0)), bound)


def test_rahbo_us_counts_rounds_after_the_initial_design():
    opt = rahbo.Optimizer(
        LINE, method=rahbo.Method(strategy=RahboUS(2)), n_initial=4, repeats=3, seed=0
    )
    rng = np.random.default_rng(0)
    for i in range(9):
        if i >= 4:
            model, scale = opt.model, opt.model.units.scale
        s = opt.ask()
        if i >= 4:
            x = np.array([[s.params["x"]]])

            def uncertainty(X, model=model):
                return model.noise.latent(X)[1]

            def bound(X, model=model, scale=scale):
                b = bands(model, X)
                return b.f_upper - scale * b.noise_var

            assert_maximises(x[0], uncertainty if i < 6 else bound)
        f = np.sin(6 * s.params["x"])
        opt.tell(s, list(f + (0.1 + 0.3 * s.params["x"]) * rng.standard_normal(3)))


@pytest.mark.parametrize("seed", range(4))
def test_gpucb_maximises_ucb_f_whatever_the_risk(seed):
    opt = told(seed, rahbo.MeanVariance(1.0))
    risks = [rahbo.MeanVariance(0.0), rahbo.MeanVariance(50.0), rahbo.Quantile(0.01)]
    proposals = [GPUCB().propose(turn(opt, risk=risk)) for risk in risks]
    assert_maximises(proposals[0], lambda X: user_units(opt, X)["f_upper"])
    assert len({x.tobytes() for x in proposals}) == 1


def test_more_aversion_never_proposes_a_noisier_bound_and_sometimes_a_quieter_one():
    quieter = 0
    for seed in range(6):
        opt = told(seed, rahbo.MeanVariance(1.0))
        X = np.array(
            [
                Rahbo().propose(turn(opt, risk=rahbo.MeanVariance(alpha)))
                for alpha in (0.0, 1.0, 50.0)
            ]
        )
        noise = bands(opt.model, X).noise_lower
        assert np.all(np.diff(noise) <= 1e-3 * noise.max())
        quieter += noise[-1] < 0.9 * noise[0]
    assert quieter >= 2


# -- random search -------------------------------------------------------------------------------


def draws(space, n, seed=0):
    opt = told(0, rahbo.MeanVariance(1.0))
    rng = np.random.default_rng(seed)
    where = Domain(space, np.empty((0, space.d)), frozenset())
    one = Turn(opt.state, opt.model, where, rng)
    return [space.decode(RandomSearch().propose(one)) for _ in range(n)]


def test_random_search_is_uniform_on_the_cube():
    points = draws(Space.of({"x": (0.0, 1.0), "lr": rahbo.Float(1e-4, 1.0, log=True)}), 500)
    x = np.array([p["x"] for p in points])
    u = 1.0 + np.log10([p["lr"] for p in points]) / 4.0
    assert kstest(x, "uniform").pvalue > 0.01
    assert kstest(u, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(x, u)[0, 1]) < 0.12


def test_random_search_gives_every_discrete_point_the_same_chance():
    points = draws(Space.of({"i": Int(1, 4), "c": Categorical(list("abc"))}), 1200)
    counts = {(i, c): 0 for i in range(1, 5) for c in "abc"}
    for p in points:
        counts[p["i"], p["c"]] += 1
    assert chisquare(list(counts.values())).pvalue > 0.01
    rows = draws(Space.of(Candidates([{"a": float(i * i)} for i in range(6)])), 600)
    tally = [rows.count({"a": float(i * i)}) for i in range(6)]
    assert chisquare(tally).pvalue > 0.01


# -- reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize(
    ("strategy", "formula"),
    [
        (Rahbo(), lambda b: b["f_lower"] - 2.5 * b["noise_upper"]),
        (RahboUS(), lambda b: b["f_lower"] - 2.5 * b["noise_var"]),
        (GPUCB(), lambda b: b["f_lower"]),
        (RandomSearch(), lambda b: b["f_lower"] - 2.5 * b["noise_upper"]),
    ],
    ids=lambda case: type(case).__name__,
)
def test_report_bounds_by_hand(strategy, formula, preset):
    opt = told(3, rahbo.MeanVariance(2.5), preset)
    bound = strategy.report_bound(opt.model, opt.settings.risk)
    units = opt.model.units
    reported = units.shift + units.scale * bound.value(GRID[::40])
    np.testing.assert_allclose(reported, formula(user_units(opt, GRID[::40])), rtol=1e-9)


# -- settings ------------------------------------------------------------------------------------


def test_a_draw_follows_the_posteriors():
    opt = told(0, rahbo.MeanStd(1.0))
    rng, X = np.random.default_rng(0), np.array([[0.2], [0.21], [0.9]])
    f, v = np.array([opt.model.draw(X, rng) for _ in range(4000)]).transpose(1, 2, 0)
    mu, sigma = opt.model.mean.predict(X)
    np.testing.assert_allclose(f.mean(axis=1), mu, atol=4.0 * sigma.max() / np.sqrt(4000))
    np.testing.assert_allclose(f.std(axis=1), sigma, rtol=0.06)
    g, s = opt.model.noise.latent(X)
    np.testing.assert_allclose(np.log(v).mean(axis=1), g, atol=4.0 * s.max() / np.sqrt(4000))
    assert np.corrcoef(f[0], f[1])[0, 1] > 0.9


def test_the_best_of_some_points_allows_for_failure():
    class Fails:
        def chance(self, X):
            return np.where(X[:, 0] > 0.5, 0.1, 1.0)

    one = turn(told(0, rahbo.MeanStd(1.0)))
    X, F = np.array([[0.2], [0.4], [0.9]]), np.array([0.0, 1.0, 2.0])
    assert one.best(X, F) == [0.9]
    assert replace(one, domain=replace(one.domain, success=Fails())).best(X, F) == [0.4]
    assert (one.domain.allowed(one.points())).all()


def test_strategies_are_values():
    assert RahboUS() == RahboUS(learning_rounds=10)
    assert len({Rahbo(), Rahbo(), GPUCB(), RandomSearch(), RahboUS(1), RahboUS(2)}) == 5
