#!/usr/bin/env python3
"""`mlem env detect` against deptry: speed on a corpus, and 15 tricky imports.

    python3 bench/detect.py CACHE [--corpus DIR] [--mlem PATH]
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import measure

DEPTRY = "deptry==0.25.1"
IMPORTS = pathlib.Path(__file__).resolve().parent / "imports"


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(value):
    """Every distribution that a report names, however it nests: name -> whether it is optional."""
    found = {}
    if isinstance(value, dict):
        name = value.get("distribution")
        if isinstance(name, str):
            found[normalised(name)] = bool(value.get("optional") or value.get("guarded"))
        for inner in value.values():
            found.update(distributions(inner))
    elif isinstance(value, list):
        for inner in value:
            found.update(distributions(inner))
    return found


def is_right(mlem, path, expected):
    """Whether exactly the expected distributions are named."""
    text = subprocess.run([mlem, "env", "detect", "--format", "json", path], capture_output=True, text=True).stdout
    found = distributions(json.loads(text)) if text.strip() else {}
    also = set(expected.get("also_right", []))
    wanted = set(expected["distributions"])
    right = set(found) == wanted or (bool(wanted) and len(found) == 1 and set(found) <= also)
    if expected.get("optional"):
        right &= all(found.get(name) for name in wanted)
    return right, sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="measure on these notebooks instead of the generated ones")
    arguments = measure.arguments(parser)
    deptry = measure.environment(arguments.cache, "deptry", [DEPTRY]) / "deptry"

    expected = json.loads((IMPORTS / "expected.json").read_text())
    wrong = []
    for name, answer in expected.items():
        right, found = is_right(arguments.mlem, IMPORTS / name, answer)
        if not right:
            wrong.append(f"{name} ({', '.join(found) or 'nothing'})")
    print(f"Tricky imports right: {len(expected) - len(wrong)} of {len(expected)}" + (f"; wrong: {'; '.join(wrong)}" if wrong else ""))
    print()

    folder = measure.corpus(arguments.cache, arguments.corpus)
    number = sum(1 for _ in folder.rglob("*.ipynb"))
    # deptry refuses to start without a dependency file; an empty project beside the notebooks will do.
    project = arguments.cache.resolve() / "deptry_project.toml"
    project.write_text('[project]\nname = "corpus"\nversion = "0"\ndependencies = []\n')
    pairs = measure.alternate(
        [arguments.mlem, "env", "detect", "--format", "json", folder],
        [deptry, "--config", project, "--no-ansi", folder],
        arguments.pairs,
    )
    rates = [number / measure.median([pair[side] for pair in pairs], lambda one: one.cpu) for side in (0, 1)]
    speed = measure.ratio([(theirs, ours) for ours, theirs in pairs], lambda one: one.cpu)
    print(measure.HEADER)
    print(measure.row(f"`mlem env detect` against {DEPTRY}, {number} notebooks, notebooks a CPU second",
                      f"{rates[0]:.0f}/s", f"{rates[1]:.0f}/s", speed, "at least 5", speed[0] >= 5))
    sys.exit(0 if speed[0] >= 5 and not wrong else 1)


if __name__ == "__main__":
    main()
