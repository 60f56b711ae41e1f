"""Grades submissions in Python: reads, checks, sorts by id, compares the ids, calls scikit-learn. One score a line."""

import sys

import pandas
from sklearn.metrics import log_loss, roc_auc_score


def read(path):
    return pandas.read_csv(path, float_precision="round_trip")


def auc(submission, answers, target="has_cactus"):
    for name in ("id", target):
        if name not in submission.columns:
            raise ValueError(f"no column {name}")
    if len(submission) != len(answers):
        raise ValueError("another number of rows")
    pandas.to_numeric(submission[target])
    if submission[target].min() < 0 or submission[target].max() > 1:
        raise ValueError("no probabilities")
    submission, answers = submission.sort_values("id"), answers.sort_values("id")
    if (submission["id"].values != answers["id"].values).any():
        raise ValueError("other ids")
    return roc_auc_score(answers[target], submission[target])


def logarithmic(submission, answers, target="label"):
    for name in ("id", target):
        if name not in submission.columns:
            raise ValueError(f"no column {name}")
    if set(submission["id"]) != set(answers["id"]):
        raise ValueError("other ids")
    if len(submission) != len(answers):
        raise ValueError("another number of rows")
    if not ((submission[target] >= 0) & (submission[target] <= 1)).all():
        raise ValueError("no probabilities")
    submission, answers = submission.sort_values("id"), answers.sort_values("id")
    return log_loss(answers[target], submission[target])


grade = {"auc": auc, "log-loss": logarithmic}[sys.argv[1]]
for path in sys.argv[3:]:
    # MLE-bench reads the answers anew for each submission.
    print(repr(float(grade(read(path), read(sys.argv[2])))))
