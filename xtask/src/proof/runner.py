"""Runs two-cell snippets, each in a forked child, and describes what came out.

    runner.py JOBS RESULTS SECONDS MEGABYTES

Reads one JSON object a line from JOBS (id, cells) and writes one a line to RESULTS. Runs on Python 2.7 and 3.6 or
later, since it runs inside every environment. What values look like is described by describe.py, which is prepended.
"""

import ast
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings

if sys.version_info[0] == 2:
    from StringIO import StringIO
else:
    from io import StringIO


def seed():
    """The random numbers of both runs are the same ones."""
    import random

    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None:
        if hasattr(tensorflow, "random") and hasattr(tensorflow.random, "set_seed"):
            tensorflow.random.set_seed(0)
        elif hasattr(tensorflow, "set_random_seed"):
            tensorflow.set_random_seed(0)


def split(cell, filename):
    """The code of a cell, and that of its last expression by itself."""
    tree = ast.parse(cell, filename)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), filename, "eval")
    return compile(tree, filename, "exec"), last


def named(namespace, walk):
    """Descriptions of all names that hold data; iterators only if they may be walked."""
    found = {}
    for name, value in list(namespace.items()):
        if name.startswith("__") or isinstance(value, type(sys)):
            continue
        if walk or not is_iterator(value):
            found[name] = describe(value, namespace)
    return found


def run(cells):
    out = StringIO()
    namespace = {"__name__": "__main__"}
    result = {"error": None, "printed": "", "warnings": [], "values": {}, "changed": [], "last": None, "figures": []}
    last = None
    earlier = {}
    seed()
    sys.stdout = out
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for index, cell in enumerate(cells):
                if index:
                    seed()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        earlier = named(namespace, walk=False)
                    out.seek(0)
                    out.truncate()
                    del caught[:]
                code, expression = split(cell, "<cell %d>" % index)
                exec(code, namespace)
                last = None if expression is None else eval(expression, namespace)
        except BaseException as error:  # what a snippet raises is the result
            result["error"] = {
                "name": type(error).__name__,
                "message": text_of(error)[:8000],
                "in_setup": index < len(cells) - 1,
            }
        result["warnings"] = [w.category.__name__ + ": " + text_of(w.message)[:400] for w in caught]
        result["printed"] = text(out.getvalue())[:100000]
        if result["error"] is None:
            warnings.simplefilter("ignore")
            sys.stdout = StringIO()
            result["figures"] = figures()
            result["last"] = describe(last, namespace) if expression is not None else None
            result["values"] = named(namespace, walk=True)
            result["changed"] = sorted(
                name for name, value in result["values"].items() if earlier.get(name) != value
            )
    return result


def text_of(error):
    try:
        return text(str(error))
    except Exception:  # an exception of Python 2 whose text is not ASCII
        return text(repr(error))


def child(cells, pipe, megabytes):
    if megabytes:
        limit = megabytes * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        answer = json.dumps(run(cells))
    except BaseException:  # a fault of the description, not of the snippet
        answer = json.dumps({"trouble": text(traceback.format_exc())[-2000:]})
    data = answer.encode("utf-8")
    while data:
        data = data[os.write(pipe, data[:65536]):]


def forked(cells, seconds, megabytes):
    """The result of a child process, or what happened to it."""
    reading, writing = os.pipe()
    folder = tempfile.mkdtemp(prefix="snippet-")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            os.close(reading)
            os.chdir(folder)
            child(cells, writing, megabytes)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    chunks, until = [], time.time() + seconds
    while True:
        left = until - time.time()
        ready = left > 0 and select.select([reading], [], [], left)[0]
        chunk = os.read(reading, 1 << 20) if ready else None
        if not chunk:
            break
        chunks.append(chunk)
    os.close(reading)
    if chunk is None:
        os.killpg(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    shutil.rmtree(folder, ignore_errors=True)
    if chunk is None:
        return {"trouble": "no end within %d seconds" % seconds}
    if os.WIFSIGNALED(status):
        return {"trouble": "killed by signal %d" % os.WTERMSIG(status)}
    try:
        return json.loads(b"".join(chunks).decode("utf-8"))
    except ValueError:
        return {"trouble": "no answer"}


def main():
    jobs, results, seconds, megabytes = sys.argv[1:5]
    # Imported once and inherited by all children, since importing is most of a snippet's time. Of submodules only
    # those that nearly every other one imports itself: a snippet must not find a module that nothing has imported.
    for module in ["numpy", "scipy.sparse", "scipy.stats", "pandas", "sklearn.utils", "sklearn.base", "matplotlib.pyplot"]:
        try:
            __import__(module)
        except Exception:  # not in this environment, or broken there: the snippets will tell
            pass
    with open(jobs) as lines, open(results, "a") as answers:
        answers.write("\n")  # ends a line that an earlier run was cut off in
        for line in lines:
            job = json.loads(line)
            answer = forked(job["cells"], int(seconds), int(megabytes))
            answer["id"] = job["id"]
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
