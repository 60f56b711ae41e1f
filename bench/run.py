#!/usr/bin/env python3
"""`mlem run` against papermill and `jupyter execute` on a trivial notebook of 50 cells.

    python3 bench/run.py CACHE [--mlem PATH]

All three drive the same ipykernel of the same environment, bytecode compiled. Wall time is the
median of alternating pairs; memory is the peak resident memory of the driver alone, without the
kernel, sampled every 10 ms (so it needs /proc).
"""

import argparse
import json
import pathlib
import shutil
import sys

import measure

REQUIREMENTS = ["ipykernel==7.4.0", "nbclient==0.11.0", "papermill==2.7.0"]


def trivial(path, cells=50):
    code = [{"cell_type": "code", "execution_count": None, "id": f"cell-{index}", "metadata": {}, "outputs": [],
             "source": [f"print({index})"]} for index in range(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": code, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
                "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(document, indent=1) + "\n")


def printed(path):
    """What the cells of an executed notebook have printed."""
    cells = json.loads(path.read_text())["cells"]
    return ["".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream") for cell in cells]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments = measure.arguments(parser)
    binaries = measure.environment(arguments.cache, "runners", REQUIREMENTS)
    work = arguments.cache.resolve() / "run"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    notebook = work / "trivial.ipynb"
    trivial(notebook)
    ours_out, papermill_out, jupyter_out = work / "ours", work / "papermill.ipynb", work / "jupyter.ipynb"

    def ours():
        # A fresh folder, ledger and all: nothing is resumed.
        shutil.rmtree(ours_out, ignore_errors=True)
        return [arguments.mlem, "run", notebook, "--python", binaries / "python",
                "--workspace", ours_out / "workspace", "--out", ours_out]

    peers = {
        "papermill": [binaries / "papermill", "--no-progress-bar", "--cwd", work, notebook, papermill_out],
        "`jupyter execute`": [binaries / "jupyter-execute", notebook, f"--output={jupyter_out}"],
    }
    results = {name: measure.alternate(ours, command, arguments.pairs, sample_memory=True, good=(0,)) for name, command in peers.items()}

    wanted = [f"{index}\n" for index in range(50)]
    for path in [*ours_out.rglob("*.ipynb"), papermill_out, jupyter_out]:
        if pathlib.Path(path).exists() and printed(path) != wanted:
            sys.exit(f"{path} does not hold the outputs of the 50 cells")

    kept = True
    print(measure.HEADER)
    for name, pairs in results.items():
        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        wall = measure.ratio(pairs, lambda one: one.wall)
        seconds = [measure.median(side, lambda one: one.wall) for side in sides]
        print(measure.row(f"`mlem run` against {name}, 50 cells, wall", f"{seconds[0]:.2f} s", f"{seconds[1]:.2f} s",
                          wall, "at most 0.5", wall[0] <= 0.5))
        memory = measure.ratio(pairs, lambda one: one.memory)
        megabytes = [measure.median(side, lambda one: one.memory) / 1e6 for side in sides]
        print(measure.row(f"`mlem run` against {name}, driver's memory", f"{megabytes[0]:.0f} MB", f"{megabytes[1]:.0f} MB",
                          memory, "at most 0.25", memory[0] <= 0.25))
        kept &= wall[0] <= 0.5 and memory[0] <= 0.25
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
