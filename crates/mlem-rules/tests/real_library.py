"""Runs snippets read from stdin (JSON lines) in fresh namespaces; one JSON line of result each."""

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings

os.environ.setdefault("MPLBACKEND", "Agg")
# The results go to the real stdout; what the snippets print is captured.
results = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def version_of(distribution):
    if distribution == "python":
        return "%d.%d.%d" % sys.version_info[:3]
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def run(cells):
    """Exception, printed text and warnings of cells run one after the other."""
    out = io.StringIO()
    namespace = {"__name__": "__main__"}
    failed_setup = False
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for index, cell in enumerate(cells):
            try:
                exec(compile(cell, "<cell %d>" % index, "exec"), namespace)
            except BaseException as error:  # what a snippet raises is the result
                failed_setup = index < len(cells) - 1
                return {
                    "ename": type(error).__name__,
                    "evalue": str(error),
                    "failed_setup": failed_setup,
                    "stdout": out.getvalue(),
                    "warnings": [str(w.category.__name__) + ": " + str(w.message) for w in caught],
                }
    return {
        "ename": None,
        "evalue": "",
        "failed_setup": False,
        "stdout": out.getvalue(),
        "warnings": [str(w.category.__name__) + ": " + str(w.message) for w in caught],
    }


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in sys.stdin:
            request = json.loads(line)
            if "version_of" in request:
                answer = {"version": version_of(request["version_of"])}
            else:
                answer = run(request["cells"])
                if "matplotlib.pyplot" in sys.modules:
                    sys.modules["matplotlib.pyplot"].close("all")
            results.write(json.dumps(answer) + "\n")
            results.flush()
        os.chdir("/")


main()
