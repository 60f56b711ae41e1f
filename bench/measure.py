"""What the benches share: peers' environments, processes measured, and the table's rows."""

import dataclasses
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

PAIRS = 7


@dataclasses.dataclass
class Measured:
    """One finished process: seconds of the clock and of the processors (children that it waited
    for included), the driver's own peak resident memory in bytes, exit status."""

    wall: float
    cpu: float
    memory: int
    status: int


def environment(cache, name, requirements):
    """A virtual environment with pinned packages and compiled bytecode; returns its `bin` folder.

    Bytecode matters: without it every start compiles each package again, which would measure the
    machine's settings instead of the tools.
    """
    folder = pathlib.Path(cache).resolve() / name
    mark = folder / "requirements.done"
    wanted = "\n".join(requirements) + "\n"
    if not (mark.exists() and mark.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        uv = shutil.which("uv")
        if uv:
            subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
            subprocess.run([uv, "pip", "install", "-q", "--python", folder / "bin/python", "--compile-bytecode", *requirements], check=True)
        else:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([folder / "bin/python", "-m", "pip", "install", "-q", "--compile", *requirements], check=True)
        subprocess.run([folder / "bin/python", "-m", "compileall", "-q", folder / "lib"], check=False, stdout=subprocess.DEVNULL)
        mark.write_text(wanted)
    return folder / "bin"


def _peak_memory(pid):
    """The peak resident memory of one process so far, in bytes; 0 where /proc does not tell."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def run(command, cwd=None, sample_memory=False):
    """Runs a command with its output thrown away and measures it."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], cwd=cwd, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak, done = [0], threading.Event()

    def watch():
        while not done.wait(0.01):
            peak[0] = max(peak[0], _peak_memory(process.pid))

    watcher = threading.Thread(target=watch) if sample_memory else None
    if watcher:
        watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if watcher:
        done.set()
        watcher.join()
    return Measured(wall, usage.ru_utime + usage.ru_stime, peak[0], process.returncode)


def alternate(ours, theirs, pairs=PAIRS, sample_memory=False, good=(0, 1)):
    """Runs two commands in turn, after one warm-up each, and returns the pairs.

    A command is a list, or a function that prepares something and returns a list.
    """
    def once(command):
        argv = command() if callable(command) else command
        measured = run(argv, sample_memory=sample_memory)
        if measured.status not in good:
            text = " ".join(map(str, argv))
            sys.exit(f"exit status {measured.status} of: {text}\nRun it by hand to see why.")
        return measured

    once(ours), once(theirs)
    return [(once(ours), once(theirs)) for _ in range(pairs)]


def ratio(pairs, value):
    """Median, lowest and highest of ours / theirs."""
    ratios = sorted(value(ours) / value(theirs) for ours, theirs in pairs)
    return statistics.median(ratios), ratios[0], ratios[-1]


def median(measured, value):
    return statistics.median(value(one) for one in measured)


HEADER = "| what | ours | peer | ours / peer, median (lowest to highest) | bound | kept |\n|---|---|---|---|---|---|"


def row(what, ours, peer, ratios, bound, kept):
    middle, low, high = ratios
    return f"| {what} | {ours} | {peer} | {middle:.2f} ({low:.2f} to {high:.2f}) | {bound} | {'yes' if kept else '**no**'} |"


def arguments(parser):
    """The options that all benches have."""
    parser.add_argument("cache", type=pathlib.Path, help="where environments and corpora are kept between runs")
    parser.add_argument("--mlem", default="target/release/mlem", help="the binary (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="alternating pairs (default: %(default)s)")
    parsed = parser.parse_args()
    parsed.mlem = str(pathlib.Path(parsed.mlem).resolve())
    return parsed


def corpus(cache, given=None):
    """The folder with the notebooks: the given one, or 1,000 generated once into the cache."""
    if given:
        return pathlib.Path(given).resolve()
    from generate_corpus import generate

    folder = pathlib.Path(cache).resolve() / "corpus" / "notebooks"
    mark = folder.parent / "complete"
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        generate(folder, 1000, 2014, strip=False)
        mark.write_text("1000 notebooks, seed 2014\n")
    return folder
