#!/usr/bin/env python3
"""Asks MLE-bench's own graders for the scores of synthetic submissions; README.md says how."""

import argparse
import contextlib
import importlib
import io
import json
import logging
import math
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import warnings

import numpy
import pandas
from makers import MAKERS, Dice

HERE = pathlib.Path(__file__).resolve().parent
# Where mlem differs on purpose, as docs/grading.md says.
APART = {
    "h-and-m-personalized-fashion-recommendations": {"repeated_row"},
    "jigsaw-toxic-comment-classification-challenge": {"repeated_id"},
    "new-york-city-taxi-fare-prediction": {"repeated_id"},
    "google-quest-challenge": {"repeated_id"},
    "nomad2018-predict-transparent-conductors": {"booleans"},
    "smartphone-decimeter-2022": {"booleans"},
}
# Competitions whose graders know their classes by heart: module and name.
CLASSES = {
    "dog-breed-identification": ("dogs", "DOGS_LIST"),
    "leaf-classification": ("classes", "CLASSES"),
    "google-quest-challenge": ("classes", "CLASSES"),
    "freesound-audio-tagging-2019": ("vocabulary", "CLASS_NAMES"),
}


def damaged(dice, row, frame):
    """The submission in many forms, by name, as CSV text."""
    key = row["id_column"]
    targets = [name for name in frame.columns if name != key]
    target = dice.py.choice(targets)
    shuffled = frame.sample(frac=1, random_state=dice.py.randint(0, 10**6))
    csv = lambda frame, **options: frame.to_csv(index=False, **options)
    forms = {
        "as_it_is": csv(frame),
        "shuffled": csv(shuffled),
        "quoted_crlf": csv(shuffled, lineterminator="\r\n", quoting=1),
        "byte_order_mark": "\ufeff" + csv(frame),
        "blank_lines": "\n \n" + csv(frame).replace("\n", "\n\n"),
        "row_left_out": csv(frame.iloc[:-1]),
        "repeated_row": csv(pandas.concat([frame, frame.iloc[:1]])),
        "no_id": csv(frame.drop(columns=[key])),
        "no_target": csv(frame.drop(columns=[target])),
        "one_more_column": csv(frame.assign(extra=1)),
        "index_column": csv(pandas.concat([pandas.Series(range(len(frame)), name="Unnamed: 0"), frame], axis=1)),
        "columns_reversed": csv(frame[frame.columns[::-1]]),
        "header_only": csv(frame.iloc[:0]),
        "empty": "",
        "ragged": csv(frame) + "a,b,c,d,e" + ",f" * len(frame.columns) + "\n",
        "open_quote": csv(frame) + '"abc,1\n',
    }
    lines = csv(frame).splitlines()
    forms["unnamed_index"] = "\n".join([lines[0]] + ["%d,%s" % pair for pair in enumerate(lines[1:])]) + "\n"

    def with_cell(value, place, column):
        changed = frame.copy().astype({column: object})
        changed.iloc[place, changed.columns.get_loc(column)] = value
        return csv(changed)

    def with_column(values):
        return csv(frame.assign(**{target: values}))

    forms["repeated_id"] = with_cell(frame[key].iloc[1], 0, key)
    forms["unknown_id"], forms["missing_id"] = with_cell("zzz", 2, key), with_cell(numpy.nan, 2, key)
    cells = {
        "blank": "", "NA": "NA", "None": "None", "words": "foo bar", "spaces": "  ", "negative": -1.5, "minus_one": -1, "half": 0.5,
        "two": 2, "one_as_float": "1.0", "large": 1e300, "infinite": "inf", "beyond_64_bits": 10**25, "dash": "-", "two_spaces": "w_1  w_2",
        "trailing_space": "a ", "one_token": "7", "three_tokens": "1 3 10", "five_tokens": "1 3 10 2 20", "runs_overlap": "1 5 3 2",
        "run_outside": "99999 5", "runs_unsorted": "9 1 2 1", "run_from_zero": "0 5",
    }
    forms.update({"cell_" + name: with_cell(value, dice.py.randint(1, 3), target) for name, value in cells.items()})
    count = len(frame)
    columns = {
        "all_blank": "", "all_one": 1, "all_zero": 0, "all_minus_one": -1, "all_x": "x", "booleans": ([True, False] * count)[:count],
        "counting": list(range(count)), "three_words": ["s%d" % (place % 3) for place in range(count)],
    }
    forms.update({name: with_column(values) for name, values in columns.items()})
    if len(targets) > 1 and all(numpy.issubdtype(frame[name].dtype, numpy.number) for name in targets):
        for name, factor in [("halved", 0.5), ("sum_off_4e-6", 1 + 4e-6), ("sum_off_1.05e-5", 1 + 1.05e-5), ("sum_off_2e-5", 1 + 2e-5)]:
            forms[name] = csv(frame.assign(**{name: frame[name] * factor for name in targets}))
    return {name: text for name, text in forms.items() if name not in APART.get(row["id"], set())}


def written(folder, row, answers, dice):
    path = folder / row["id"] / "prepared" / row["answers"]
    path.parent.mkdir(parents=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in answers))
        return path
    frame = pandas.DataFrame(answers)
    if row.get("pairing") not in ("file-order", "none"):
        frame = frame.sample(frac=1, random_state=dice.py.randint(0, 10**6))
    frame.to_csv(path, index=False)
    return path


def asked(grade, submission, answers):
    """The grader's number, or None where it raises."""
    from mlebench.utils import load_answers, read_csv

    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return float(grade(read_csv(submission), load_answers(answers)))
    except Exception:
        return None


def chosen(cases, wide):
    """Cases that say something new: each score once, and some that have none."""
    kept, scores, without = [], set(), 0
    for case in cases:
        if case["score"] is None:
            without += 1
            keep = without <= (2 if wide else 8)
        else:
            keep = case["score"] not in scores and len(scores) < (4 if wide else 12)
            scores.add(case["score"])
        if keep:
            kept.append(case)
    return kept


def same(theirs, ours):
    if theirs is None or ours is None:
        return theirs is ours
    return theirs == ours or (math.isnan(theirs) and math.isnan(ours)) or abs(theirs - ours) <= 1e-9 * max(1, abs(theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", help="compare this mlem instead of writing")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.checkout))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    table = tomllib.loads((HERE / "../../competitions.toml").read_text())["competition"]
    dice, expected = Dice(arguments.seed), {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for row in sorted(table, key=lambda row: row["id"]):
            module = f"mlebench.competitions.{row['id']}"
            classes = None
            if row["id"] in CLASSES:
                file, name = CLASSES[row["id"]]
                classes = getattr(importlib.import_module(f"{module}.{file}"), name)
            # Small enough to be kept, where they are kept.
            count = dice.py.randint(17, 60) if arguments.compare else (9 if classes else 17)
            answers, submission = MAKERS[row["metric"]](dice, row, count, classes)
            path = written(folder / "data", row, answers, dice)
            grade = importlib.import_module(f"{module}.grade").grade
            cases = []
            for name, text in damaged(dice, row, pandas.DataFrame(submission)).items():
                file = folder / "runs" / row["id"] / f"{name}.csv"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, newline="")
                score = asked(grade, file, path)
                expected[row["id"], name] = score
                shown = score if score is None or math.isfinite(score) else str(score)
                cases.append({"name": name, "score": shown, "submission": text})
            if not arguments.compare:
                dice.py.shuffle(cases)
                cases.sort(key=lambda case: case["name"] not in ("as_it_is", "shuffled", "quoted_crlf"))
                document = {"answers": path.read_text(), "cases": chosen(cases, classes is not None)}
                target = HERE / "cases" / f"{row['id']}.json"
                target.parent.mkdir(exist_ok=True)
                target.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        if arguments.compare:
            out = folder / "out"
            subprocess.run([arguments.compare, "grade", folder / "runs", "--data", folder / "data", "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            different = 0
            for report in json.loads((out / "grades.json").read_text())["competition_reports"]:
                file = pathlib.Path(report["submission_path"])
                theirs, ours = expected[file.parent.name, file.stem], report["score_raw"]
                ours = float(ours) if isinstance(ours, str) else ours
                if not same(theirs, ours):
                    different += 1
                    print(file.parent.name, file.stem, "MLE-bench:", theirs, "mlem:", ours, report["reason"])
            scored = sum(score is not None for score in expected.values())
            print(f"{len(expected)} cases, {scored} with a score; {different} different")
            sys.exit(different > 0)


if __name__ == "__main__":
    main()
