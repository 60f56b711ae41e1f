#!/usr/bin/env python3
"""Live repair against a whole run for each fix: the same notebook repaired by both strategies.

    python3 bench/repair.py CACHE [--mlem PATH] [--pairs N]

The notebook has 30 code cells. Three of them take 2 s of real work each, eight are broken in eight
ways whose fix needs the failing cell's error or live types. `--strategy live` runs again only what
a fix concerns; `--strategy rerun` starts over after each fix, as the reference system does.
"""

import argparse
import json
import pathlib
import shutil
import sys

import measure

REQUIREMENTS = ["ipykernel==7.4.0", "pandas==3.1.1", "numpy==2.4.6", "scikit-learn==1.9.1", "scipy==1.17.1"]

WORK = """import time
until = time.process_time() + 2
steps = 0
while time.process_time() < until:
    steps += 1
steps > 0"""

# Values reach these cells through a function, so that their types are known only while it runs.
BROKEN = [
    "frame = frame.append(more, ignore_index=True)\nlen(frame)",
    "frame.drop('b', 1).columns.tolist()",
    "float(frame.ix[0, 'a'])",
    "frame.sort('b')['b'].tolist()",
    "frame['a'].order().tolist()",
    "frame.fillna(method='ffill').shape",
    "vectorizer.get_feature_names()",
    "[name for name, column in frame.iteritems()]",
]


def notebook():
    """30 cells: set-up, three slow ones early, the broken ones spread over the rest."""
    cells = [
        "import numpy as np\nimport pandas as pd\nfrom sklearn.feature_extraction.text import CountVectorizer",
        "def make(kind):\n    made = {'frame': pd.DataFrame({'a': [1.0, 2.0], 'b': [4, 3]}),\n"
        "            'more': pd.DataFrame({'a': [3.0], 'b': [5]}),\n"
        "            'vectorizer': CountVectorizer().fit(['some text', 'more text'])}\n    return made[kind]",
        "frame, more, vectorizer = make('frame'), make('more'), make('vectorizer')",
        WORK, WORK, WORK,
    ]
    plain = 30 - len(cells) - len(BROKEN)
    for index in range(max(plain, len(BROKEN))):
        if index < plain:
            cells.append(f"total_{index} = sum(range({index + 10}))\nprint(total_{index})")
        if index < len(BROKEN):
            cells.append(BROKEN[index])
    code = [{"cell_type": "code", "execution_count": None, "id": f"cell-{index}", "metadata": {}, "outputs": [],
             "source": source.splitlines(True)} for index, source in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": code, "metadata": {"kernelspec": kernel, "language_info": {"name": "python", "version": "3.6.4"}},
            "nbformat": 4, "nbformat_minor": 5}


def sources(folder):
    """The sources of the notebook that a strategy has made."""
    paths = [path for path in pathlib.Path(folder).rglob("*.ipynb")]
    if len(paths) != 1:
        sys.exit(f"expected one notebook in {folder}, found {len(paths)}")
    return ["".join(cell["source"]) for cell in json.loads(paths[0].read_text())["cells"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(pairs=3)
    arguments = measure.arguments(parser)
    python = measure.environment(arguments.cache, "repair", REQUIREMENTS) / "python"
    work = arguments.cache.resolve() / "repair_work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    path = work / "broken.ipynb"
    path.write_text(json.dumps(notebook(), indent=1) + "\n")

    def modernize(strategy):
        def command():
            # A fresh folder, ledger and all: nothing is resumed.
            folder = work / strategy
            shutil.rmtree(folder, ignore_errors=True)
            return [arguments.mlem, "modernize", path, "--python", python, "--strategy", strategy,
                    "--workspace", folder / "workspace", "--out", folder / "out"]
        return command

    pairs = measure.alternate(modernize("live"), modernize("rerun"), arguments.pairs, good=(0,))
    same = sources(work / "live" / "out") == sources(work / "rerun" / "out")
    # How many times quicker: theirs to ours.
    speed = measure.ratio([(rerun, live) for live, rerun in pairs], lambda one: one.wall)
    seconds = [measure.median([pair[side] for pair in pairs], lambda one: one.wall) for side in (0, 1)]
    kept = speed[0] >= 4 and same
    print(measure.HEADER)
    print(measure.row("live repair against `--strategy rerun`, 30 cells, 8 broken, same final notebook: " + ("yes" if same else "**no**"),
                      f"{seconds[0]:.1f} s", f"{seconds[1]:.1f} s", speed, "at least 4", kept))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
