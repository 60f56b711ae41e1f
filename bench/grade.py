#!/usr/bin/env python3
"""`mlem grade` against grading in Python as MLE-bench does it: CPU time, one process a file and one for 50 files.

    python3 bench/grade.py CACHE [--mlem PATH]

The peer reads both files with pandas' exact parser, makes the same checks, sorts both by id, compares the ids and
calls scikit-learn, one process a file, as MLEModernizer grades. AUC: 100,000 rows with ids of 32 hex digits. Log
loss: 1,000,000 rows with whole ids. Then 50 AUC files, in one warm Python process and in one `mlem grade --out`.
CPU seconds, since other processes may share the machine; both must give the same score.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys

import measure

PEERS = ["numpy==1.26.4", "pandas==2.2.3", "scipy==1.14.1", "scikit-learn==1.5.2"]
FILES = 50
PEER = pathlib.Path(__file__).resolve().parent / "grade_peer.py"
COMPETITIONS = {"auc": "aerial-cactus-identification", "log-loss": "dogs-vs-cats-redux-kernels-edition"}
TARGETS = {"auc": "has_cactus", "log-loss": "label"}


def write(folder, kind, rows, copies):
    """Answers and submissions from a fixed seed, in the order in which a user would have them: shuffled."""
    dice = random.Random(2014)
    ids = ["%032x" % dice.getrandbits(128) for _ in range(rows)] if kind == "auc" else list(range(1, rows + 1))
    labels = [dice.randint(0, 1) for _ in ids]
    header = f"id,{TARGETS[kind]}\n"
    folder.mkdir(parents=True)
    (folder / "answers.csv").write_text(header + "".join(f"{one},{label}\n" for one, label in zip(ids, labels)))
    for copy in range(copies):
        order = list(range(rows))
        dice.shuffle(order)
        lines = (f"{ids[place]},{min(max(dice.gauss(0.3 + 0.4 * labels[place], 0.3), 0), 1)!r}\n" for place in order)
        target = folder / "submissions" / f"{copy:02d}.csv"
        target.parent.mkdir(exist_ok=True)
        target.write_text(header + "".join(lines))


def data(cache):
    folder = cache.resolve() / "grading"
    mark = folder / "complete"
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        write(folder / "auc", "auc", 100_000, FILES)
        write(folder / "log-loss", "log-loss", 1_000_000, 1)
        mark.write_text("seed 2014\n")
    return folder


def scores(ours, theirs):
    """The scores of both programs, which must agree."""
    mine = json.loads(subprocess.run(ours, capture_output=True, text=True).stdout)["score_raw"]
    yours = float(subprocess.run(theirs, capture_output=True, text=True, check=True).stdout)
    if abs(mine - yours) > 1e-9:
        sys.exit(f"the scores differ: {mine} and {yours}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments = measure.arguments(parser)
    python = measure.environment(arguments.cache, "grading-peers", PEERS) / "python"
    folder = data(arguments.cache)
    kept = True
    print(measure.HEADER)
    for kind, least, what in [("auc", 20, "AUC, 100,000 rows, ids of 32 hex digits"), ("log-loss", 5, "log loss, 1,000,000 rows")]:
        submission, answers = folder / kind / "submissions/00.csv", folder / kind / "answers.csv"
        ours = [arguments.mlem, "grade", submission, "--competition", COMPETITIONS[kind], "--answers", answers, "--format", "json"]
        theirs = [python, PEER, kind, answers, submission]
        scores(ours, theirs)
        kept &= report(f"`mlem grade`, {what}, against one Python process a file, CPU", ours, theirs, least, arguments.pairs)
    out = folder / "out"
    ours = [arguments.mlem, "grade", folder / "auc/submissions", "--competition", COMPETITIONS["auc"],
            "--answers", folder / "auc/answers.csv", "--out", out]
    theirs = [python, PEER, "auc", folder / "auc/answers.csv", *sorted((folder / "auc/submissions").iterdir())]
    kept &= report(f"the same AUC, {FILES} files, against one warm Python process for all, CPU", ours, theirs, 3, min(arguments.pairs, 3))
    sys.exit(0 if kept else 1)


def report(what, ours, theirs, least, pairs):
    """One row; the ratio is theirs to ours, so more is better."""
    measured = measure.alternate(ours, theirs, pairs)
    cpu = lambda one: one.cpu
    times = measure.ratio([(theirs, ours) for ours, theirs in measured], cpu)
    mine, yours = (measure.median([pair[side] for pair in measured], cpu) for side in (0, 1))
    middle, low, high = times
    is_kept = middle >= least
    print(f"| {what} | {mine:.3f} s | {yours:.2f} s | {middle:.1f} times less ({low:.1f} to {high:.1f}) | at least {least} | {'yes' if is_kept else '**no**'} |")
    return is_kept


if __name__ == "__main__":
    main()
