#!/usr/bin/env python3
"""`mlem check` against `ruff check --select NPY,PD,UP`: speed on a corpus, sight on 21 classics.

    python3 bench/check.py CACHE [--corpus DIR] [--mlem PATH]

Speed: notebooks a CPU second on the same folder, median of alternating pairs. Sight: the classics
in three forms, as they are (nbformat 4), as nbformat 3, and as nbformat 3 with a Python 2 print
statement in an added cell. Found means: a finding at the line that breaks.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import measure

RUFF = "ruff==0.17.6"
CLASSICS = pathlib.Path(__file__).resolve().parent / "classics"


def as_nbformat_3(document, with_print):
    cells = []
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            cell = {"cell_type": "code", "collapsed": False, "input": cell["source"], "language": "python",
                    "metadata": {}, "outputs": []}
        cells.append(cell)
    if with_print:
        cells.append({"cell_type": "code", "collapsed": False, "input": ["print 'done in', 3, 's'"],
                      "language": "python", "metadata": {}, "outputs": []})
    return {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells, "metadata": {}}]}


def lay_out(cache):
    """Writes the three forms and returns their folders."""
    folders = {}
    for form in ["nbformat 4", "nbformat 3", "nbformat 3 and Python 2"]:
        folder = pathlib.Path(cache).resolve() / "classics" / form.replace(" ", "_")
        folder.mkdir(parents=True, exist_ok=True)
        for path in CLASSICS.glob("*.ipynb"):
            document = json.loads(path.read_text())
            if form != "nbformat 4":
                document = as_nbformat_3(document, "Python 2" in form)
            (folder / path.name).write_text(json.dumps(document, indent=1) + "\n")
        folders[form] = folder
    return folders


def findings_of_mlem(mlem, path):
    """(cell among all cells from 0, line from 1) of every finding."""
    text = subprocess.run([mlem, "check", "--format", "json", path], capture_output=True, text=True).stdout
    report = json.loads(text) if text.strip() else []
    if isinstance(report, dict):
        report = report.get("findings", [])
    return {(finding["cell"], finding["line"]) for finding in report}


def findings_of_ruff(ruff, path):
    """The same from ruff, which counts cells from 1."""
    command = [ruff, "check", "--select", "NPY,PD,UP", "--no-cache", "--isolated", "--output-format", "json", path]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    found = set()
    for finding in json.loads(text or "[]"):
        # A syntax error has no rule: ruff gives up on the notebook.
        if finding.get("cell") and (finding.get("code") or "").startswith(("NPY", "PD", "UP")):
            found.add((finding["cell"] - 1, finding["location"]["row"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="measure on these notebooks instead of the generated ones")
    arguments = measure.arguments(parser)
    ruff = measure.environment(arguments.cache, "ruff", [RUFF]) / "ruff"
    expected = json.loads((CLASSICS / "expected.json").read_text())

    kept = True
    print("| classics found, of 21 | mlem | ruff | missed by mlem |\n|---|---|---|---|")
    for form, folder in lay_out(arguments.cache).items():
        missed, ruff_found = [], 0
        for name, place in expected.items():
            at = (place["cell"], place["line"])
            if at not in findings_of_mlem(arguments.mlem, folder / name):
                missed.append(place["breakage"])
            ruff_found += at in findings_of_ruff(ruff, folder / name)
        kept &= len(missed) <= 2
        print(f"| {form} | {len(expected) - len(missed)} | {ruff_found} | {', '.join(missed) or '–'} |")

    folder = measure.corpus(arguments.cache, arguments.corpus)
    number = sum(1 for _ in folder.rglob("*.ipynb"))
    pairs = measure.alternate(
        [arguments.mlem, "check", "--format", "json", folder],
        [ruff, "check", "--select", "NPY,PD,UP", "--no-cache", "--isolated", "--exit-zero", "--output-format", "json", folder],
        arguments.pairs,
    )
    rates = [number / measure.median([pair[side] for pair in pairs], lambda one: one.cpu) for side in (0, 1)]
    # Notebooks a second: more is better, so the ratio of the rates is theirs to ours in time.
    speed = measure.ratio([(theirs, ours) for ours, theirs in pairs], lambda one: one.cpu)
    kept &= speed[0] >= 1
    print()
    print(measure.HEADER)
    print(measure.row(f"`mlem check` against {RUFF}, {number} notebooks, notebooks a CPU second",
                      f"{rates[0]:.0f}/s", f"{rates[1]:.0f}/s", speed, "at least 1", speed[0] >= 1))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
