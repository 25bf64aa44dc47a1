"""How far a recommendation from a table of past results can be trusted.

    python bench/tables.py --jobs 2                            50 tables of each of 21 kinds
    python bench/tables.py --tables 12 --kinds singles "TPE history"
    python bench/tables.py --json tables.jsonl                 keep a record of each table
    python bench/tables.py --json fresh.jsonl --first-seed 1000 --jobs 2

Each table comes from a random smooth mean and a random noise std, both known exactly, and is given
to ``rahbo.Optimizer(space, data=...)``. What ``recommend(level=0.9)`` then says of a row is
compared with the truth. Seeds from 0 on are for development; use others to judge the result.

A table that the file of records holds is not judged again, whatever the code has become since:
start a new file for new code.
"""

import argparse
from pathlib import Path

import numpy as np

import rahbo
from random_tables import KINDS, Table, make_table, position, why_absent
from records import Job, Record, all_records, commits, log, markdown

LEVEL = 0.9
QUANTITIES = ("mean", "noise std", "risk value")
# The lower end of a noise interval below this share of the spread of all told values counts as 0:
# no table can tell such noise from none.
NO_NOISE = 1e-3
# An end that misses the truth by this share of the spread does so by rounding in the arithmetic.
ROUNDING = 1e-9


def judge(job: Job) -> Record:
    """Return what rahbo says of a table beside the truth."""
    table = make_table(job["kind"], job["seed"])
    truth = table.truth
    noise_std = None
    if job.get("knows_noise"):

        def noise_std(row):
            return float(truth.moments(position(truth.space, row)[None])[1][0])

    optimizer = rahbo.Optimizer(
        truth.space, risk=rahbo.MeanVariance(truth.alpha), direction=truth.direction,
        data=list(zip(table.rows, table.values.tolist(), strict=True)), seed=job["seed"],
        noise_std=noise_std,
    )  # fmt: skip
    best = optimizer.recommend(level=LEVEL)
    row = _row(table, best.params)
    return {
        "n_evaluations": best.n_evaluations,
        "spread": truth.spread,
        "spread_of_values": float(np.std(table.values)),
        **_choice(table, row),
        **_intervals(table, row, best),
    }


def _row(table: Table, params: dict) -> int:
    """Return the first row with these parameters."""
    gaps = np.abs(table.U - position(table.truth.space, params)).max(axis=1)
    if gaps.min() > 1e-6:
        raise ValueError(f"recommend() gave {params}, which is not a row of the table.")
    return int(np.argmin(gaps))


def _choice(table: Table, row: int) -> Record:
    """Return how good the recommended row is, and the luckiest: the one with the best value."""
    sign, U = table.truth.sign, table.U
    risk, values = sign * table.truth.risk(U), sign * table.values
    # Rounded values tie: then every row with the best value is the luckiest.
    luckiest = np.flatnonzero(values == values.max())
    is_lucky = bool(np.any(np.all(U[luckiest] == U[row], axis=1)))
    regret = (risk.max() - risk) / risk.std()
    return {
        "is_lucky": is_lucky,
        "is_best": bool(regret[row] <= 0.0),
        "lucky_is_best": bool(np.all(regret[luckiest] <= 0.0)),
        "regret": float(regret[row]),
        "lucky_regret": float(regret[luckiest].mean()),
    }


def _intervals(table: Table, row: int, best) -> Record:
    """Return the truth, the interval and the place of the truth (-1 below, 0 in, 1 above) of each.

    The recommendation states them in the sign of the values, whichever way they are optimised.
    """
    u = table.U[[row]]
    mean, std = table.truth.moments(u)
    true = (float(mean[0]), float(std[0]), float(table.truth.risk(u)[0]))
    said = [best.mean_interval, best.noise_std_interval, best.risk_interval]
    ends = [(float(lower), float(upper)) for lower, upper in said]
    judged = list(ends)
    if ends[1][0] <= NO_NOISE * np.std(table.values):
        judged[1] = (0.0, ends[1][1])
    slack = ROUNDING * table.truth.spread
    place = [
        int(t > upper + slack) - int(t < lower - slack)
        for t, (lower, upper) in zip(true, judged, strict=True)
    ]
    return {"true": true, "intervals": ends, "place": place}


# -- output --------------------------------------------------------------------------------------


def choice_row(title: str, records: list[Record]) -> list[str]:
    lucky, best, either = (
        np.array([record[name] for record in records])
        for name in ("is_lucky", "is_best", "lucky_is_best")
    )
    return [
        title, f"{len(records)}", f"{lucky.mean():.0%}", f"{np.mean(lucky & ~best):.0%}",
        f"{best.mean():.0%}", f"{either.mean():.0%}",
        *(_mean([record[name] for record in records]) for name in ("regret", "lucky_regret")),
    ]  # fmt: skip


def interval_row(title: str, records: list[Record]) -> list[str]:
    place = np.array([record["place"] for record in records])
    held = [f"{np.mean(p == 0):.0%} ({np.mean(p < 0):.0%}, {np.mean(p > 0):.0%})" for p in place.T]
    ends, spread = (np.array([r[name] for r in records]) for name in ("intervals", "spread"))
    width = np.median((ends[..., 1] - ends[..., 0]) / spread[:, None], axis=0)
    lower, upper = np.maximum(ends[:, 1], np.finfo(float).tiny).T
    ratio = np.median(upper / lower)
    return [title, *held, f"{width[0]:.2f}", f"{ratio:.3g}", f"{width[2]:.2f}"]


def _mean(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{np.mean(values):.3f} ± {2 * np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def report(records: list[Record], names: list[str]) -> str:
    """Return both tables and the summary line."""
    groups = {name: [r for r in records if r["job"]["kind"] == name] for name in names}
    groups = {name: some for name, some in groups.items() if some} | {"all": records}
    choice = markdown(
        ["kind", "tables", "luckiest recommended", "and not the best", "best recommended",
         "luckiest is best", "regret", "regret of luckiest"],
        [choice_row(name, some) for name, some in groups.items()],
    )  # fmt: skip
    intervals = markdown(
        ["kind", *QUANTITIES, "mean width", "noise upper / lower", "risk width"],
        [interval_row(name, some) for name, some in groups.items()],
    )
    return "\n\n".join([
        f"{len(records)} tables; commit {commits(records)}.",
        "### Which row is recommended",
        choice,
        "The luckiest row has the best single value. Regret is the true risk value of the best "
        "row less that of the recommended one, in units of the std of the true risk value over "
        "the rows (mean ± two standard errors).",
        f"### Intervals at {LEVEL:.0%}",
        intervals,
        "Share of tables whose interval holds the truth (truth below it, above it); median width "
        "in units of the std of f over the space; median ratio of the ends of the noise interval.",
        summary(records),
    ])  # fmt: skip


def summary(records: list[Record]) -> str:
    wrong = np.mean([record["is_lucky"] and not record["is_best"] for record in records])
    held = np.mean([np.array(record["place"]) == 0 for record in records], axis=0)
    covered = ", ".join(f"{name} {h:.1%}" for name, h in zip(QUANTITIES, held, strict=True))
    return (
        f"Luckiest row recommended although it is not the best: {wrong:.1%} of tables. "
        f"Intervals at {LEVEL:.0%} hold the truth: {covered}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=50, help="tables of each kind (50)")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first table (0)")
    parser.add_argument("--jobs", type=int, default=1, help="tables at the same time (1)")
    parser.add_argument("--json", type=Path, help="file of records, one line a table")
    parser.add_argument(
        "--knows-noise", action="store_true",
        help="tell the model the true noise: what no noise model can beat",
    )  # fmt: skip
    args = parser.parse_args()
    absent = {name: why for name in args.kinds if (why := why_absent(name))}
    names = [name for name in args.kinds if name not in absent]
    seeds = range(args.first_seed, args.first_seed + args.tables)
    jobs = [{"kind": name, "seed": seed} for name in names for seed in seeds]
    if args.knows_noise:
        jobs = [{**job, "knows_noise": True} for job in jobs]
    records, notes = all_records(judge, jobs, args.jobs, args.json)
    notes += [f"Left out: {name}, because {why}." for name, why in absent.items()]
    for note in notes:
        log(note)
    if not records:
        raise SystemExit("No tables.")
    print("\n\n".join([report(records, names), *notes]))


if __name__ == "__main__":
    main()
