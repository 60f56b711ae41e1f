"""Scores what it is asked (JSON lines on stdin) with scikit-learn and scipy; one JSON line of answer each."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from scipy import special, stats
from scipy.spatial.distance import directed_hausdorff
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

warnings.simplefilter("ignore")


def files(request):
    """The metric of a submission and its answers, matched by id."""
    read = lambda name: pd.read_csv(request[name], float_precision="round_trip").sort_values("id")
    truth, predicted = read("answers"), read("submission")
    assert (truth["id"].to_numpy() == predicted["id"].to_numpy()).all()
    targets = [name for name in truth.columns if name != "id"]
    every = truth[targets].to_numpy(), predicted[targets].to_numpy()
    one = truth[targets[0]].to_numpy(), predicted[targets[0]].to_numpy()
    words = lambda column: [set(str(cell).lower().split()) for cell in column.fillna("")]
    sets = lambda: (words(truth[targets[0]]), words(predicted[targets[0]]))
    return {
        "roc-auc": lambda: metrics.roc_auc_score(*one),
        "mean-column-roc-auc": lambda: metrics.roc_auc_score(*every, average="macro"),
        "log-loss": lambda: metrics.log_loss(*(one if len(targets) == 1 else every)),
        "kl-divergence": lambda: kl_divergence(*every),
        "accuracy": lambda: metrics.accuracy_score(*one),
        "error-rate": lambda: 1 - metrics.accuracy_score(*one),
        "rmse": lambda: metrics.root_mean_squared_error(*one),
        "mean-column-rmse": lambda: np.mean([metrics.root_mean_squared_error(*pair) for pair in zip(every[0].T, every[1].T)]),
        "rmsle": lambda: metrics.root_mean_squared_log_error(*one),
        "mae": lambda: metrics.mean_absolute_error(*one),
        "r2": lambda: metrics.r2_score(*one),
        "f1-macro": lambda: metrics.f1_score(*one, average="macro"),
        "f1-multilabel": lambda: multilabel(*sets()),
        "word-jaccard": lambda: jaccard(*sets()),
        "mean-column-spearman": lambda: np.mean([stats.spearmanr(*pair).statistic for pair in zip(every[0].T, every[1].T)]),
        "pearson": lambda: stats.pearsonr(*one).statistic,
        "lwlrap": lambda: lwlrap(*every),
        "quadratic-kappa": lambda: metrics.cohen_kappa_score(*one, weights="quadratic"),
        "matthews": lambda: metrics.matthews_corrcoef(*one),
    }[request["metric"]]()


def kl_divergence(truth, predicted):
    truth = truth / truth.sum(axis=1, keepdims=True)
    return special.rel_entr(truth, np.clip(predicted, 1e-15, 1 - 1e-15)).sum(axis=1).mean()


def multilabel(truth, predicted):
    binarizer = MultiLabelBinarizer(classes=sorted(set.union(*truth)))
    return metrics.f1_score(binarizer.fit_transform(truth), binarizer.transform(predicted), average="micro")


def jaccard(truth, predicted):
    binarizer = MultiLabelBinarizer(classes=sorted(set.union(*truth, *predicted)))
    return metrics.jaccard_score(binarizer.fit_transform(truth), binarizer.transform(predicted), average="samples")


def lwlrap(truth, scores):
    weight = (truth > 0).sum(axis=1)
    rows = weight > 0
    return metrics.label_ranking_average_precision_score(truth[rows] > 0, scores[rows], sample_weight=weight[rows])


def average_precision(request):
    return metrics.average_precision_score(request["truth"], request["scores"])


def quantile(request):
    return np.quantile(request["values"], request["share"])


def hausdorff(request):
    truth, predicted = np.array(request["truth"], bool), np.array(request["predicted"], bool)
    ours, theirs = np.argwhere(predicted) / truth.shape, np.argwhere(truth) / truth.shape
    return max(directed_hausdorff(ours, theirs)[0], directed_hausdorff(theirs, ours)[0]) / np.sqrt(3)


def columns(request):
    """The type and the printed cells of each column, as pandas reads them."""
    frame = pd.read_csv(request["path"], float_precision="round_trip")
    kinds = {"i": "integers", "f": "numbers", "b": "booleans"}
    kind = lambda column: kinds.get(getattr(column.dtype, "kind", "O"), "text") if len(frame) else "text"
    return [[name, kind(frame[name]), ["nan" if pd.isna(cell) else str(cell) for cell in frame[name].tolist()]] for name in frame.columns]


KINDS = {"files": files, "average-precision": average_precision, "quantile": quantile, "hausdorff": hausdorff, "columns": columns}

for line in sys.stdin:
    request = json.loads(line)
    try:
        result = KINDS[request["kind"]](request)
        answer = {"value": result if isinstance(result, list) else repr(float(result))}
    except Exception as error:
        answer = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(answer), flush=True)
