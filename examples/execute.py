#!/usr/bin/env python3
"""Runs one notebook with the kernel of one Python and stores its outputs, as Jupyter would.

    python3 execute.py NOTEBOOK PYTHON

Needs nbclient and nbformat for itself and ipykernel in PYTHON. The notebook runs in a copy of
its folder, `working/`, whose `input/` lies beside it as `../input` (Kaggle's layout), so that no
file it writes stays here. A notebook in nbformat 3 is written back in nbformat 3. Nothing is
written when a cell fails or when an output names a folder of this machine.
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient


def joined(outputs):
    """The outputs with neighbouring pieces of one stream made one.

    A kernel flushes by the clock, so the pieces differ from run to run.
    """
    result = []
    for output in outputs:
        last = result[-1] if result else None
        if last and last.output_type == output.output_type == "stream" and last.name == output.name:
            last.text += output.text
        else:
            result.append(output)
    return result


def main(path, python):
    major = json.loads(path.read_text(encoding="utf-8"))["nbformat"]
    notebook = nbformat.read(path, as_version=4)
    minor = notebook.nbformat_minor
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        working = scratch / "working"
        shutil.copytree(path.parent, working)
        if (working / "input").is_dir():
            (working / "input").rename(scratch / "input")
        kernels = scratch / "kernels"
        (kernels / "then").mkdir(parents=True)
        (kernels / "then" / "kernel.json").write_text(json.dumps({
            "argv": [python, "-m", "ipykernel", "-f", "{connection_file}"],
            "display_name": "then", "language": "python",
        }))
        specs = KernelSpecManager(kernel_dirs=[str(kernels)], ensure_native_kernel=False)
        manager = AsyncKernelManager(kernel_name="then", kernel_spec_manager=specs)
        client = NotebookClient(notebook, km=manager, timeout=600, record_timing=False,
                                resources={"metadata": {"path": str(working)}})
        client.execute()
        private = [str(scratch), str(Path(python).parent.parent), str(path.resolve().parent)]
    notebook.nbformat_minor = minor
    for cell in notebook.cells:
        cell.pop("id", None)
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    if major == 3:
        with_v3 = nbformat.convert(notebook, 3)
        with_v3.metadata = {"name": path.stem}
        text = json.dumps(with_v3, indent=1, sort_keys=True) + "\n"
        text = nbformat.writes(nbformat.reads(text, as_version=nbformat.NO_CONVERT), version=nbformat.NO_CONVERT)
    else:
        text = nbformat.writes(notebook, version=nbformat.NO_CONVERT)
    for folder in private:
        if folder in text:
            at = text.index(folder)
            sys.exit("%s: an output names %s: %s" % (path, folder, text[at - 200:at + 400]))
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2])
