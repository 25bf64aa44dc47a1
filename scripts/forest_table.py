"""Score every random forest of the paper's search space on the credit-card data.

One forest of 100 trees holds every smaller forest as a prefix of its trees, and a tree of depth
15 holds a shallower one in its upper nodes. So one fit for each max_features, 24 in all, gives
the scores of all 36,000 settings on all five folds.

    python scripts/forest_table.py creditcard.csv --out tables/seed0
    python scripts/forest_table.py --combine tables/seed0 --to src/rahbo/problems/data/forest.npz
    python scripts/forest_table.py creditcard.csv --times src/rahbo/problems/data/forest_times.json

The first command writes one file for each max_features and skips those that are there, so that
it may be stopped at any time and started again. The second refuses an incomplete set. The third
counts frauds and other transactions by hour, for the picture of the data. Needs scikit-learn, and
pyarrow for a Parquet file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from rahbo.errors import DataError
from rahbo.problems import Timeline
from rahbo.problems.forest import FOLDS, MAX_DEPTH, MAX_FEATURES, N_ESTIMATORS, balanced_accuracy

Counts = NDArray[np.int64]
Features = NDArray[np.float32]
Labels = NDArray[np.uint8]

FEATURES = (*(f"V{i}" for i in range(1, 29)), "Amount")
BIN_SECONDS = 3600

# The ends and the middle first: an unfinished run then already shows the shape of the table.
FIRST = (5, 28, 15, 10, 20, 24, 7)
ORDER = (*FIRST, *(m for m in MAX_FEATURES if m not in FIRST))
SHARED = ("positives", "negatives", "n_train", "sklearn")
SOURCE = (
    "Credit-card transactions of A. Dal Pozzolo, O. Caelen, R. A. Johnson and G. Bontempi (2015), "
    "counted by scripts/forest_table.py"
)


@dataclass(frozen=True)
class TimeSplit:
    """Training rows, and the later validation rows split into folds.

    Attributes:
        X_train: Features of the first half in time ``(n, d)``.
        y_train: Classes of the first half, 1 for fraud ``(n,)``.
        X_val: Features of the second half ``(m, d)``.
        y_val: Classes of the second half ``(m,)``.
        edges: The rows of the second half at which folds begin and end ``(6,)``.
    """

    X_train: Features
    y_train: Labels
    X_val: Features
    y_val: Labels
    edges: NDArray[np.intp]


def fold_rows(n: int) -> NDArray[np.intp]:
    """Return the rows ``(6,)`` at which each fold begins and the last ends.

    The n rows are in order of time. Those before the first fold are the training half.
    """
    half = n // 2
    sizes = [len(part) for part in np.array_split(np.arange(half, n), FOLDS)]
    return np.concatenate([[half], half + np.cumsum(sizes)]).astype(np.intp)


def split_by_time(X: Features, y: Labels) -> TimeSplit:
    """Return the first half of the rows, and the second half in five folds.

    Equal numbers of rows in order of time are quantiles of time, up to ties within a second.

    Args:
        X: Features in order of time ``(n, d)``.
        y: Classes in the same order, 1 for fraud ``(n,)``.

    Raises:
        DataError: The first half, or a fold, lacks one of the two classes.
    """
    rows = fold_rows(len(y))
    half, edges = rows[0], rows - rows[0]
    for part in (y[:half], *np.array_split(y[half:], FOLDS)):
        if not np.array_equal(np.unique(part), [0, 1]):
            raise DataError(
                "The first half and each fold of the second must contain both classes, 0 and 1, "
                f"but {len(part)} rows contain {np.unique(part).tolist()}. Pass the whole data "
                "set, in order of time."
            )
    return TimeSplit(X[:half], y[:half], X[half:], y[half:], edges)


def count_folds(marked: NDArray[np.bool_], edges: NDArray[np.intp]) -> Counts:
    """Return how many rows are marked in each fold ``(..., 5)``, from marks ``(..., m)``."""
    counts = [np.count_nonzero(marked[..., a:b], axis=-1) for a, b in pairwise(edges)]
    return np.stack(counts, axis=-1)


def read_csv(path: Path) -> tuple[Features, Labels]:
    """Return features ``(n, 29)`` and classes ``(n,)`` in order of time, from a CSV file."""
    with path.open(encoding="utf-8") as file:
        names = [name.strip().strip('"') for name in file.readline().split(",")]
        missing = [name for name in ("Time", *FEATURES, "Class") if name not in names]
        if missing:
            raise DataError(
                f"The credit-card data need the columns Time, V1..V28, Amount and Class, but "
                f"{path} lacks {missing}. Pass the CSV file of the whole data set."
            )
        rows = np.loadtxt(file, delimiter=",", quotechar='"', ndmin=2)
    columns = dict(zip(names, rows.T, strict=True))
    order = np.argsort(columns["Time"], kind="stable")
    X = np.column_stack([columns[name] for name in FEATURES]).astype(np.float32)
    return X[order], columns["Class"].astype(np.uint8)[order]


def count_times(seconds: NDArray[np.int64], y: NDArray[np.uint8]) -> Timeline:
    """Count transactions by hour.

    Args:
        seconds: Times since the first transaction, in order ``(n,)``.
        y: Classes in the same order, 1 for fraud ``(n,)``.
    """
    bins = seconds // BIN_SECONDS
    rows = fold_rows(len(y))
    starts = seconds[np.minimum(rows, len(y) - 1)]
    frauds = [np.count_nonzero(y[a:b]) for a, b in pairwise([0, *rows])]
    fraud, other = (np.bincount(bins[y == k], minlength=int(bins[-1]) + 1) for k in (1, 0))
    return Timeline(
        BIN_SECONDS, *(tuple(map(int, part)) for part in (fraud, other, starts, frauds))
    )


def read_data(path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return features ``(n, 29)`` and classes ``(n,)`` in order of time."""
    if path.suffix != ".parquet":
        return read_csv(path)
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    order = np.argsort(table["Time"].to_numpy(), kind="stable")
    X = np.column_stack([table[name].to_numpy().astype(np.float32) for name in FEATURES])
    return X[order], table["Class"].to_numpy().astype(np.uint8)[order]


def read_times(path: Path) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return times ``(n,)`` in seconds and classes ``(n,)``, in order of time."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path, columns=["Time", "Class"])
        seconds, y = (table[name].to_numpy() for name in ("Time", "Class"))
    else:
        with path.open(encoding="utf-8") as file:
            names = [name.strip().strip('"') for name in file.readline().split(",")]
            where = [names.index(name) for name in ("Time", "Class")]
            seconds, y = np.loadtxt(file, delimiter=",", quotechar='"', usecols=where).T
    order = np.argsort(seconds, kind="stable")
    return seconds[order].astype(np.int64), y[order].astype(np.uint8)


def write_times(data: Path, to: Path) -> None:
    """Write the counts that `rahbo.problems.timeline` reads."""
    stored = {"source": SOURCE, **asdict(count_times(*read_times(data)))}
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in stored.items())
    to.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")


def fit_forest(split: TimeSplit, max_features: int, seed: int) -> RandomForestClassifier:
    """Return the largest forest with a max_features, fitted on the first half in time."""
    forest = RandomForestClassifier(
        n_estimators=N_ESTIMATORS[-1],
        max_features=max_features,
        max_depth=MAX_DEPTH[-1],
        random_state=seed,
        n_jobs=1,
    )
    return forest.fit(split.X_train, split.y_train)


def nodes_by_depth(tree: Any, max_depth: int) -> NDArray[np.intp]:
    """Return the node in which a tree cut at depth 1..max_depth ends, for each of its nodes.

    Args:
        tree: The `tree_` of a fitted scikit-learn tree.
        max_depth: The largest depth.

    Returns:
        Node numbers ``(max_depth, n_nodes)``; the row d - 1 is the cut at depth d.
    """
    depth = np.zeros(tree.node_count, dtype=np.intp)
    ends = np.zeros((max_depth, tree.node_count), dtype=np.intp)
    depths = np.arange(1, max_depth + 1)
    # A parent's number is smaller than its children's, so it is done before them.
    for node in range(tree.node_count):
        ends[depth[node] <= depths, node] = node
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
                ends[:, child] = ends[:, node]
    return ends


def count_marks(
    trees: Iterable[Any], split: TimeSplit, max_depth: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return hits and false alarms of every prefix of the trees, cut at every depth.

    The class probabilities of the nodes reached are averaged and the larger one wins, as in
    `RandomForestClassifier.predict`, with sums in the same order and precision.

    Returns:
        Two arrays of counts ``(n_trees, max_depth, 5)``.
    """
    X = np.ascontiguousarray(split.X_val, dtype=np.float32)
    is_fraud = split.y_val == 1
    sums = np.zeros((2, max_depth, len(X)))
    hits, false_alarms = [], []
    for n, fitted in enumerate(trees, start=1):
        tree = fitted.tree_
        leaf = tree.apply(X)
        ends = nodes_by_depth(tree, max_depth)
        for label in (0, 1):
            sums[label] += tree.value[:, 0, label][ends][:, leaf]
        marked = sums[1] / n > sums[0] / n
        hits.append(count_folds(marked & is_fraud, split.edges))
        false_alarms.append(count_folds(marked & ~is_fraud, split.edges))
    return np.stack(hits), np.stack(false_alarms)


def score_slice(split: TimeSplit, max_features: int, seed: int) -> dict[str, Any]:
    """Fit one forest and return the arrays of its file, scores ``(100, 15, 5)`` among them."""
    forest = fit_forest(split, max_features, seed)
    hits, false_alarms = count_marks(forest.estimators_, split, MAX_DEPTH[-1])
    positives = count_folds(split.y_val == 1, split.edges)
    negatives = count_folds(split.y_val == 0, split.edges)
    return {
        "scores": balanced_accuracy(hits, false_alarms, positives, negatives),
        "hits": hits,
        "false_alarms": false_alarms,
        "positives": positives,
        "negatives": negatives,
        "n_train": len(split.y_train),
        "max_features": max_features,
        "seed": seed,
        "sklearn": sklearn.__version__,
    }


def write_npz(path: Path, arrays: dict[str, Any]) -> None:
    """Write a file whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def slice_path(folder: Path, max_features: int) -> Path:
    """Return where the scores of one max_features are kept."""
    return folder / f"mf{max_features:02d}.npz"


def read_slice(path: Path, max_features: int, seed: int | None = None) -> dict[str, Any]:
    """Return the arrays of one file, checked to be what its name and the seed say."""
    with np.load(path) as stored:
        arrays = dict(stored)
    wanted_seed = int(arrays["seed"]) if seed is None else seed
    found = int(arrays["max_features"]), int(arrays["seed"])
    if found != (max_features, wanted_seed):
        raise SystemExit(
            f"{path} must hold max_features {max_features} with seed {wanted_seed}, it holds "
            f"{found[0]} with seed {found[1]}. Use one folder for each seed."
        )
    return arrays


def make_slices(data: Path, out: Path, seed: int, order: Sequence[int]) -> None:
    """Write the file of each max_features that is not there yet."""
    out.mkdir(parents=True, exist_ok=True)
    left = [m for m in order if not slice_path(out, m).exists()]
    for max_features in set(order) - set(left):
        read_slice(slice_path(out, max_features), max_features, seed)
    split = split_by_time(*read_data(data))
    start, done = time.monotonic(), 0
    while left:
        max_features = left.pop(0)
        begun = time.monotonic()
        write_npz(slice_path(out, max_features), score_slice(split, max_features, seed))
        done += max_features
        now = time.monotonic()
        # The time of a fit grows in proportion to max_features.
        rest = (now - start) / done * sum(left)
        print(
            f"max_features {max_features}: {now - begun:.0f} s; {len(left)} to go, "
            f"about {rest / 60:.0f} min left",
            file=sys.stderr,
            flush=True,
        )


def read_folder(folder: Path) -> dict[str, Any]:
    """Return the counts of one seed, with max_features as second axis ``(100, 24, 15, 5)``."""
    missing = [m for m in MAX_FEATURES if not slice_path(folder, m).is_file()]
    if missing:
        raise SystemExit(
            f"{folder} must hold the results of every max_features in {MAX_FEATURES[0]}.."
            f"{MAX_FEATURES[-1]}, it lacks {missing}. Run this script with --out {folder} again: "
            "it goes on where it stopped."
        )
    slices = [read_slice(slice_path(folder, m), m) for m in MAX_FEATURES]
    for name in ("seed", *SHARED):
        if any(not np.array_equal(one[name], slices[0][name]) for one in slices):
            raise SystemExit(
                f"{folder} mixes files with different {name}. Use one folder for each."
            )
    counts = {
        name: np.stack([one[name] for one in slices], axis=1) for name in ("hits", "false_alarms")
    }
    return counts | {name: slices[0][name] for name in ("seed", *SHARED)}


def combine(folders: Sequence[Path], to: Path) -> None:
    """Write the table that `rahbo.problems.forest` reads, from one complete folder a seed."""
    parts = [read_folder(folder) for folder in folders]
    for name in SHARED:
        if any(not np.array_equal(part[name], parts[0][name]) for part in parts):
            raise SystemExit(f"The folders must agree in {name}. Make them with the same data.")
    seeds = [int(part["seed"]) for part in parts]
    if len(set(seeds)) < len(seeds):
        raise SystemExit(f"The folders must have different seeds, got {seeds}. Pass each once.")
    hits = np.stack([part["hits"] for part in parts])
    false_alarms = np.stack([part["false_alarms"] for part in parts])
    to.parent.mkdir(parents=True, exist_ok=True)
    write_npz(
        to,
        {name: parts[0][name] for name in SHARED}
        | {
            "hits": hits.astype(np.min_scalar_type(hits.max())),
            "false_alarms": false_alarms.astype(np.min_scalar_type(false_alarms.max())),
            "seeds": np.array(seeds),
            "max_features": np.array(MAX_FEATURES),
        },
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="CSV or Parquet file of the data")
    parser.add_argument("--out", type=Path, help="folder of the files, one a max_features")
    parser.add_argument("--seed", type=int, default=0, help="random_state of the forests")
    parser.add_argument(
        "--max-features",
        type=int,
        nargs="+",
        default=ORDER,
        choices=MAX_FEATURES,
        metavar="M",
        help="which ones, in this order; all by default",
    )
    parser.add_argument("--combine", type=Path, nargs="+", metavar="DIR", help="complete folders")
    parser.add_argument("--to", type=Path, help="the table to write")
    parser.add_argument("--times", type=Path, help="the counts by hour to write")
    args = parser.parse_args(argv)
    given = {name for name in ("data", "out", "combine", "to", "times") if getattr(args, name)}
    if given == {"data", "out"}:
        make_slices(args.data, args.out, args.seed, args.max_features)
    elif given == {"combine", "to"}:
        combine(args.combine, args.to)
    elif given == {"data", "times"}:
        write_times(args.data, args.times)
    else:
        parser.error("pass DATA --out DIR, or --combine DIR --to FILE, or DATA --times FILE")


if __name__ == "__main__":
    main()
