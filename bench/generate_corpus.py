#!/usr/bin/env python3
"""Writes a corpus of notebooks whose sizes, outputs and breakages are like those of real ones.

    python3 bench/generate_corpus.py DIR [--count 1000] [--seed 2014] [--strip-outputs]

Shares: 5 % nbformat 3, 12 % a Python 2 kernel, 34 % at least one classic breakage, each kind as
often as on 1,323 public notebooks. Sizes follow log-normal fits to 734 public notebooks (median 21
code cells, 3 kB of code, 45 kB of outputs; pictures of 30 kB in the middle and 195 kB at the upper
5 %). Only the standard library is used; the same seed gives the same bytes.
"""

import argparse
import base64
import json
import math
import pathlib
import random

from corpus_snippets import BREAKAGES, MARKDOWN, ORDINARY, imports

NBFORMAT_3, PYTHON_2, BROKEN = 0.054, 0.12, 0.34


def log_normal(rng, median, sigma, low, high):
    return max(low, min(high, int(median * math.exp(rng.gauss(0, sigma)))))


def deal_breakages(rng, count, python2):
    """Which kinds each notebook holds: BROKEN of them at least one, each kind at its share."""
    kinds = {name: round(share * count) for name, (share, _) in BREAKAGES.items()}
    held = [[] for _ in range(count)]
    old = [index for index in range(count) if python2[index]]
    # A print statement is a Python 2 notebook's.
    for index in rng.sample(old, min(kinds.pop("print-statement"), len(old))):
        held[index].append("print-statement")
    rest = [name for name, number in kinds.items() for _ in range(number)]
    rng.shuffle(rest)
    sound = [index for index in range(count) if not held[index]]
    fresh = rng.sample(sound, max(0, round(BROKEN * count) - (count - len(sound))))
    broken = fresh + [index for index in range(count) if held[index]]
    for name in rest:
        index = fresh.pop() if fresh else rng.choice([index for index in broken if name not in held[index]])
        held[index].append(name)
    return held


def lines(text):
    return text.splitlines(True)


def words(rng, number):
    stock = "value mean frame model score price index column train error fold rate total class text row".split()
    return " ".join(rng.choice(stock) for _ in range(number))


def table_html(rng):
    names = [words(rng, 1) + str(i) for i in range(rng.randint(3, 14))]
    head = "".join(f"      <th>{name}</th>\n" for name in names)
    body = ""
    for row in range(rng.randint(2, 12)):
        cells = "".join(f"      <td>{rng.uniform(0, 999):.4f}</td>\n" for _ in names)
        body += f"    <tr>\n      <th>{row}</th>\n{cells}    </tr>\n"
    return f'<div>\n<table border="1" class="dataframe">\n  <thead>\n    <tr>\n{head}    </tr>\n  </thead>\n  <tbody>\n{body}  </tbody>\n</table>\n</div>'


def table_text(rng):
    return "\n".join(f"{row}  " + "  ".join(f"{rng.uniform(0, 999):9.4f}" for _ in range(5)) for row in range(rng.randint(2, 20)))


def picture(rng):
    size = log_normal(rng, 29_000, 1.16, 3_000, 1_500_000) * 3 // 4
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + rng.randbytes(size)).decode() + "\n"


def rich(rng, data, number):
    """An output in nbformat 4's form: a result with a prompt number, else something displayed."""
    output = {"data": data, "metadata": {}}
    if number is None:
        return {**output, "output_type": "display_data"}
    return {**output, "execution_count": number, "output_type": "execute_result"}


def outputs(rng, source, number):
    made = []
    if "print" in source or source.startswith("!"):
        text = "".join(words(rng, rng.randint(2, 12)) + "\n" for _ in range(log_normal(rng, 3, 1.2, 1, 400)))
        made.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    if "plt." in source or "sns." in source or "plot" in source:
        if rng.random() < 0.85:
            made.append(rich(rng, {"image/png": picture(rng), "text/plain": ["<Figure size 640x480 with 1 Axes>"]}, None))
    elif rng.random() < 0.35:
        data = {"text/plain": lines(table_text(rng))}
        if rng.random() < 0.6:
            data["text/html"] = lines(table_html(rng))
        made.append(rich(rng, dict(sorted(data.items())), number))
    if rng.random() < 0.01:
        made.append({"ename": "NameError", "evalue": "name 'test_ids' is not defined", "output_type": "error",
                     "traceback": ["\x1b[0;31mNameError\x1b[0m: name 'test_ids' is not defined"]})
    return made


SHORT = {"image/png": "png", "text/html": "html", "text/plain": "text"}


def output_v3(output):
    kind = output["output_type"]
    if kind == "stream":
        return {"output_type": "stream", "stream": output["name"], "text": output["text"]}
    if kind == "error":
        return {**output, "output_type": "pyerr"}
    old = {"metadata": {}, "output_type": "pyout" if kind == "execute_result" else kind}
    old.update({SHORT[mime]: value for mime, value in output["data"].items()})
    if kind == "execute_result":
        old["prompt_number"] = output["execution_count"]
    return old


def cells_of(rng, kinds, python2, strip):
    """The cells in nbformat 4's form."""
    number_of_code = log_normal(rng, 21, 0.78, 1, 250)
    functions, weights = zip(*ORDINARY)
    sources = [imports(rng, python2)]
    sources += [rng.choices(functions, weights)[0](rng, python2) for _ in range(number_of_code - 1)]
    for kind in kinds:
        for source in rng.sample(BREAKAGES[kind][1], rng.randint(1, len(BREAKAGES[kind][1]))):
            sources.insert(rng.randint(1, len(sources)), source)
    cells = []
    for number, source in enumerate(sources, 1):
        while rng.random() < 0.48:
            text = rng.choice(MARKDOWN).format(words(rng, 1).title(), words(rng, 2), words(rng, 2))
            cells.append({"cell_type": "markdown", "metadata": {}, "source": lines(text)})
        cells.append({
            "cell_type": "code",
            "execution_count": None if strip else number,
            "metadata": {"collapsed": True} if rng.random() < 0.1 else {},
            "outputs": [] if strip else outputs(rng, source, number),
            "source": lines(source),
        })
    return cells


def as_v3(cells):
    old = []
    for cell in cells:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            if text.startswith("## ") and "\n" not in text:
                cell = {"cell_type": "heading", "level": 2, "metadata": {}, "source": [text[3:]]}
            old.append(cell)
            continue
        old.append({
            "cell_type": "code", "collapsed": False, "input": cell["source"], "language": "python", "metadata": {},
            "outputs": [output_v3(output) for output in cell["outputs"]],
            **({"prompt_number": cell["execution_count"]} if cell["execution_count"] else {}),
        })
    return {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": old, "metadata": {}}]}


def as_v4(rng, cells, python2):
    major = 2 if python2 else 3
    version = rng.choice(["2.7.6", "2.7.11", "2.7.13"] if python2 else ["3.4.3", "3.5.2", "3.6.4", "3.7.1", "3.8.5"])
    metadata = {
        "kernelspec": {"display_name": f"Python {major}", "language": "python", "name": f"python{major}"},
        "language_info": {
            "codemirror_mode": {"name": "ipython", "version": major}, "file_extension": ".py",
            "mimetype": "text/x-python", "name": "python", "nbconvert_exporter": "python",
            "pygments_lexer": f"ipython{major}", "version": version,
        },
    }
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": rng.choice([0, 1, 2, 2, 4])}


def generate(folder, count, seed, strip):
    rng = random.Random(seed)
    order = list(range(count))
    rng.shuffle(order)
    v3 = set(order[:round(NBFORMAT_3 * count)])
    rng.shuffle(order)
    kernel2 = set(order[:round(PYTHON_2 * count)])
    python2 = [index in kernel2 or index in v3 for index in range(count)]
    held = deal_breakages(rng, count, python2)
    folder.mkdir(parents=True, exist_ok=True)
    truth = {}
    for index in range(count):
        cells = cells_of(rng, held[index], "print-statement" in held[index], strip)
        document = as_v3(cells) if index in v3 else as_v4(rng, cells, index in kernel2)
        name = f"notebook_{index:04}.ipynb"
        text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, separators=(",", ": "))
        (folder / name).write_text(text + "\n", encoding="utf-8")
        truth[name] = {"nbformat": document["nbformat"], "python2": python2[index], "breakages": sorted(held[index])}
    return truth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2014)
    parser.add_argument("--strip-outputs", action="store_true")
    parser.add_argument("--truth", type=pathlib.Path, help="write what each notebook holds to this JSON file")
    arguments = parser.parse_args()
    truth = generate(arguments.folder, arguments.count, arguments.seed, arguments.strip_outputs)
    if arguments.truth:
        arguments.truth.write_text(json.dumps(truth, indent=1) + "\n")
    size = sum(path.stat().st_size for path in arguments.folder.glob("*.ipynb"))
    broken = sum(bool(held["breakages"]) for held in truth.values())
    old = sum(held["nbformat"] == 3 for held in truth.values())
    print(f"{len(truth)} notebooks, {size / 1e6:.0f} MB, {old} of nbformat 3, {broken} with a breakage")


if __name__ == "__main__":
    main()
