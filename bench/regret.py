"""Regret at equal single evaluations, beside the paper preset and other libraries.

    python bench/regret.py --json runs.jsonl --jobs 2          everything (many hours)
    python bench/regret.py --problems sine --methods rahbo paper optuna-gp-5 --seeds 5
    python bench/regret.py --json runs.jsonl --markdown regret.md --figure regret.png
    python bench/regret.py --json runs.jsonl --split develop --compare rahbo algorithm1
    python bench/regret.py --json new.jsonl --split develop --against old.jsonl

Runs that the file of records holds are not repeated, so a run may be stopped and started again.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from contest import split
from contest.compare import BLOCK, Comparison
from contest.measures import OURS, Contest
from contest.methods import VARIANTS, is_peer, parsed, plays_on
from contest.problems import TASKS
from contest.report import commits, draw, full_report, provenance
from contest.runs import Job, Record, Store
from contest.schedule import (
    ALL_METHODS,
    EVEN_METHODS,
    EVEN_SEEDS,
    METHODS,
    SEEDS,
    SIMOPT_METHODS,
    installed,
    log,
    methods_of,
    present,
    results,
    seeds_of,
)

MOST_SEEDS = 60


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--problems", nargs="+", choices=list(TASKS), metavar="PROBLEM",
        help=f"by default all of the split but SimOpt's: {', '.join(TASKS)}",
    )  # fmt: skip
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD",
        help=f"{', '.join(VARIANTS)}, or a peer and its repeats such as optuna-gp-5; by default "
        f"{', '.join(METHODS)}, {', '.join(EVEN_METHODS)} where noise is even, {OURS} on lists, "
        f"and {', '.join(SIMOPT_METHODS)} on SimOpt's",
    )  # fmt: skip
    parser.add_argument(
        "--split", choices=list(split.SEEDS), help="problems and seeds to develop on or judge by"
    )
    parser.add_argument("--first-seed", type=int, help="0, or the first of the split")
    parser.add_argument(
        "--seeds", type=int,
        help=f"runs of each ({SEEDS}, and {EVEN_SEEDS} where noise is even); in a comparison the "
        f"most ({MOST_SEEDS})",
    )  # fmt: skip
    parser.add_argument("--budget", type=int, default=400, help="single evaluations (400)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--json", type=Path, help="file of records, one line a run")
    parser.add_argument("--markdown", type=Path, help="also write the tables here")
    parser.add_argument("--figure", type=Path, help="draw the curves here, a PNG")
    parser.add_argument(
        "--compare", nargs=2, metavar=("FIRST", "SECOND"),
        help="add seeds until the difference of two methods is known (problems of even noise only "
        "if named)",
    )  # fmt: skip
    parser.add_argument(
        "--against", type=Path, metavar="FILE",
        help="compare with the first method's records in this file, made by other code; the "
        f"methods are {OURS} and {OURS} unless --compare names them",
    )  # fmt: skip
    parser.add_argument(
        "--until", type=float, default=0.02,
        help="known means two standard errors of at most this (0.02)",
    )  # fmt: skip
    return parser


def arguments() -> argparse.Namespace:
    """The settings, checked and completed."""
    parser = command_line()
    args = parser.parse_args()
    if args.against is not None:
        if not args.against.exists():
            parser.error(f"--against needs a file of records, found none at {args.against}")
        args.compare = args.compare or [OURS, OURS]
    if args.compare and (args.methods or args.figure):
        parser.error("a comparison names its own methods and draws nothing")
    check_methods(parser, args)
    if args.first_seed is None:
        args.first_seed = split.first_seed(args.split)
    most = args.seeds or (MOST_SEEDS if args.compare else EVEN_SEEDS)
    seeds = range(args.first_seed, args.first_seed + most)
    split.check(args.split, args.problems or [], seeds)
    return args


def check_methods(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Stop if a method is unknown, or problems that it is not made for are to be run."""
    problems = args.problems or usual(args.split)
    for method in [*(args.methods or ()), *(args.compare or ())]:
        if is_peer(method):
            parsed(method)
        strangers = [problem for problem in problems if not plays_on(method, problem)]
        if strangers:
            parser.error(f"{method} plays on SimOpt's problems only, not on {', '.join(strangers)}")
    if args.compare and len({TASKS[problem].kind == "simopt" for problem in problems}) > 1:
        parser.error("a comparison has one mean: compare SimOpt's problems by themselves")


def usual(part: split.Split | None) -> list[str]:
    """All problems of a split but SimOpt's, which need an environment of their own."""
    return [p for p in split.problems_of(part) if TASKS[p].kind != "simopt"]


def contest_of(args: argparse.Namespace, notes: list[str]) -> Contest:
    """The runs of all methods."""
    problems = present(args.problems or usual(args.split), notes)
    jobs = [
        Job(args.first_seed + i, problem, method, args.budget)
        for problem in problems
        for method in installed(args.methods or methods_of(problem), notes)
        for i in range(args.seeds or seeds_of(problem))
    ]
    store = Store(args.json)
    fill(store, sorted(jobs, key=lambda job: job.seed), args.jobs, notes)
    records = store.of(jobs)
    if not records:
        raise SystemExit(" ".join([*notes, "No runs."]))
    return Contest.of(records, args.methods or ALL_METHODS)


def fill(store: Store, jobs: Sequence[Job], workers: int, notes: list[str]) -> None:
    """Make the runs that the store lacks."""
    todo = store.missing(dict.fromkeys(jobs))
    log(f"{len(jobs)} runs, {len(jobs) - len(todo)} of them in the records already")
    for record in results(todo, workers, notes):
        store.add(record)


def compared(args: argparse.Namespace, notes: list[str]) -> str:
    """The report of pairs of runs, added block by block until enough is known."""
    if len(installed(args.compare, notes)) < len(set(args.compare)):
        raise SystemExit(" ".join(notes))
    problems = present(args.problems or to_compare(args.split, args.compare), notes)
    store = Store(args.json)
    other = store if args.against is None else Store(args.against)
    before: list[Record] = []
    after: list[Record] = []
    end = args.first_seed + (args.seeds or MOST_SEEDS)
    found = Comparison.of(before, after)
    for start in range(args.first_seed, end, BLOCK):
        seeds = range(start, min(start + BLOCK, end))
        pairs = [[Job(s, p, method, args.budget) for method in args.compare]
                 for s in seeds for p in problems]  # fmt: skip
        if other is not store:
            pairs = [pair for pair in pairs if pair[0] in other.records]
            if not pairs:
                break
        first, second = zip(*pairs, strict=True)
        fill(store, second if other is not store else [*first, *second], args.jobs, notes)
        before += other.of(first)
        after += store.of(second)
        found = Comparison.of(before, after)
        log(f"Seeds {seeds[0]} to {seeds[-1]}: {found.states(args.until)}")
        if found.decided(args.until):
            break
    if not found.pairs:
        raise SystemExit("No pairs of runs.")
    names = list(args.compare)
    if other is not store:
        names = [f"{n}@{commits(side)}" for n, side in zip(names, (before, after), strict=True)]
    told = found.report(*names, args.until)
    return "\n\n".join([provenance([*before, *after]), *notes, told]) + "\n"


def to_compare(part: split.Split | None, methods: Iterable[str]) -> list[str]:
    """Problems where both play and risk matters."""
    left_out = {"even", "list", "rough-list"} if any(map(is_peer, methods)) else {"even"}
    return [p for p in usual(part) if TASKS[p].kind not in left_out]


def main() -> None:
    args, notes = arguments(), []
    if args.compare:
        told = compared(args, notes)
    else:
        contest = contest_of(args, notes)
        told = full_report(contest, notes)
        if args.figure is not None:
            draw(contest, args.figure)
    text = split.described(args.split) + "\n\n" + told
    print(text)
    if args.markdown is not None:
        args.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
