"""Synthetic answers and submissions for each kind of competition: (answers, submission) as dicts of columns."""

import random

import numpy

MAKERS = {}


def maker(*metrics):
    def register(function):
        MAKERS.update(dict.fromkeys(metrics, function))
        return function

    return register


class Dice:
    """All randomness, from one seed."""

    def __init__(self, seed):
        self.py, self.np = random.Random(seed), numpy.random.default_rng(seed)

    def hexes(self, count):
        return ["%032x" % self.py.getrandbits(128) for _ in range(count)]

    def ids(self, count):
        return self.hexes(count) if self.py.random() < 0.5 else self.numbers(count)

    def numbers(self, count):
        return self.py.sample(range(1, 10 * count + 10), count)

    def bits(self, count):
        return [self.py.randint(0, 1) for _ in range(count - 2)] + [0, 1]

    def fractions(self, count):
        """Some with many ties, some with few."""
        return numpy.round(self.np.random(count), self.py.choice([1, 2, 8]))

    def distributions(self, count, classes):
        rows = self.np.random((count, classes)) + 1e-9
        rows = numpy.round(rows / rows.sum(1, keepdims=True), 5)
        rows[:, 0] = numpy.round(1 - rows[:, 1:].sum(1), 5)
        return rows.clip(0, 1)

    def words(self, least, most):
        known = ["a", "b", "Cat", "dog", "über", "日本", "x1", "the", "THE", "é"]
        return " ".join(self.py.choice(known) for _ in range(self.py.randint(least, most)))

    def run_lengths(self, pixels, most=6):
        if self.py.random() < 0.2:
            return ""
        tokens, at = [], 1
        for _ in range(self.py.randint(1, most)):
            at += self.py.randint(0, max(1, pixels // 8))
            length = self.py.randint(1, max(1, pixels // 6))
            if at > pixels:
                break
            tokens += [at, length]
            at += length + self.py.randint(0, 2)
        return " ".join(map(str, tokens))

    def mostly(self, values, other, share=0.6):
        """The values themselves, or others now and then."""
        return [value if self.py.random() < share else other() for value in values]


@maker("roc-auc")
def roc_auc(dice, row, count, _):
    ids, target = dice.ids(count), row["targets"][0]
    return {row["id_column"]: ids, target: dice.bits(count)}, {row["id_column"]: ids, target: dice.fractions(count)}


@maker("mean-column-roc-auc")
def mean_column_roc_auc(dice, row, count, _):
    ids = dice.ids(count)
    answers, submission = {row["id_column"]: ids}, {row["id_column"]: ids}
    for target in row["targets"]:
        answers[target], submission[target] = dice.bits(count), dice.fractions(count)
        if row.get("drop_negative_answers"):
            answers[target][3] = -1
    return answers, submission


@maker("weighted-roc-auc")
def weighted_roc_auc(dice, row, count, _):
    ids = dice.hexes(count)
    scores = numpy.round(dice.np.normal(size=count), dice.py.choice([0, 1, 8]))
    return {"Id": ids, "Label": dice.bits(count)}, {"Id": ids, "Label": scores}


@maker("bias-roc-auc")
def bias_roc_auc(dice, row, count, _):
    ids = dice.numbers(90)
    answers = {"id": ids, "toxicity": numpy.round(dice.np.random(90), 2)}
    answers.update({name: numpy.round(dice.np.random(90), 2) for name in row["answers_columns"]})
    return answers, {"id": ids, "prediction": numpy.round(dice.np.random(90), 3)}


@maker("log-loss")
def log_loss(dice, row, count, classes):
    ids, key = dice.ids(count), row["id_column"]
    targets = classes or row["targets"]
    if len(targets) == 1:
        return {key: ids, targets[0]: dice.bits(count)}, {key: ids, targets[0]: dice.fractions(count)}
    labels, rows = dice.np.integers(0, len(targets), count), dice.distributions(count, len(targets))
    answers = {name: (labels == place).astype(int) for place, name in enumerate(targets)}
    return {key: ids, **answers}, {key: ids, **{name: rows[:, place] for place, name in enumerate(targets)}}


@maker("kl-divergence")
def kl_divergence(dice, row, count, _):
    ids, votes, rows = dice.numbers(count), dice.np.integers(0, 8, (count, 6)), dice.distributions(count, 6)
    votes[:, 0] += 1
    named = lambda values: {"eeg_id": ids, **{name: values[:, place] for place, name in enumerate(row["targets"])}}
    return named(votes), named(rows)


@maker("weighted-log-loss")
def weighted_log_loss(dice, row, count, _):
    variables = ["patient_overall"] + ["C%d" % place for place in range(1, 8)]
    ids = [f"1.2.{study}_{variable}" for study in range(3) for variable in variables]
    dice.py.shuffle(ids)
    labels = [dice.py.randint(0, 1) for _ in ids]
    return {"row_id": ids, "fractured": labels}, {"row_id": ids, "fractured": dice.fractions(len(ids))}


@maker("accuracy", "quadratic-kappa", "matthews")
def labels(dice, row, count, _):
    ids, name = dice.ids(count), row["targets"][0]
    if row["id"] == "spaceship-titanic":
        known = [True, False]
    elif row["id"].startswith(("tensorflow-speech", "paddy", "plant-seed", "text-norm")):
        known = ["yes", "no", "up", "down", "left", "Right", "x y"][: dice.py.choice([3, 7])]
    else:
        known = list(range(2 if row["metric"] == "matthews" else dice.py.choice([2, 3, 7])))
    truth = [dice.py.choice(known) for _ in ids]
    predicted = dice.mostly(truth, lambda: dice.py.choice(known))
    return {row["id_column"]: ids, name: truth}, {row["id_column"]: ids, name: predicted}


@maker("error-rate", "f1-macro")
def integer_labels(dice, row, count, _):
    ids, name = dice.numbers(count), row["targets"][0]
    truth = [dice.py.randint(0, 9) for _ in ids]
    predicted = dice.mostly(truth, lambda: dice.py.randint(0, 12))
    if row["metric"] == "error-rate" and dice.py.random() < 0.5:
        predicted = [" ".join(map(str, [first, 3, 7])) for first in predicted]
    if row["metric"] == "f1-macro" and dice.py.random() < 0.3:
        predicted = [label + 0.7 for label in predicted]
    return {row["id_column"]: ids, name: truth}, {row["id_column"]: ids, name: predicted}


@maker("f1-multilabel")
def tags(dice, row, count, _):
    ids, name = dice.ids(count), row["targets"][0]
    some = lambda least: " ".join(dice.py.sample("abcdefgh", dice.py.randint(least, 4)))
    predicted = [some(0) if dice.py.random() < 0.9 else "z a a" for _ in ids]
    return {row["id_column"]: ids, name: [some(1) for _ in ids]}, {row["id_column"]: ids, name: predicted}


@maker("rmse", "mae")
def numbers(dice, row, count, _):
    ids, name = dice.ids(count), row["targets"][0]
    some = lambda: numpy.round(dice.np.random(count) * 98 + 1, 3)
    if row.get("round_to_integer"):
        some = lambda: dice.np.integers(0, 10**7, count)
    answers = {row["id_column"]: ids, name: some()}
    if "keep_rows" in row:
        answers[row["keep_rows"]["column"]] = dice.bits(count)
    return answers, {row["id_column"]: ids, name: some()}


@maker("mean-column-rmse")
def reactivities(dice, row, count, _):
    ids = [f"id_{sequence}_{place}" for sequence in range(count // 3 + 1) for place in range(3)]
    some = lambda: {name: numpy.round(dice.np.normal(size=len(ids)), 4) for name in row["targets"] + row["required"]}
    keep = [dice.py.random() < 0.7 for _ in ids[1:]] + [True]
    return {"id_seqpos": ids, **some(), "keep": keep}, {"id_seqpos": ids, **some()}


@maker("mean-column-rmsle")
def energies(dice, row, count, _):
    ids = dice.numbers(count)
    some = lambda: {"id": ids, **{name: numpy.round(dice.np.random(count), 4) for name in row["targets"]}}
    return some(), some()


@maker("log-mae")
def couplings(dice, row, count, _):
    ids, name = dice.numbers(count), row["targets"][0]
    some = lambda: {"id": ids, name: numpy.round(dice.np.normal(size=count), 3)}
    return {**some(), "type": [dice.py.choice(["1JHC", "2JHH", "3JHN"]) for _ in ids]}, some()


@maker("global-dice", "mean-dice", "mean-iou-precision", "f05-pixels")
def masks(dice, row, count, _):
    ids, metric = dice.hexes(count), row["metric"]
    height, width = (101, 101) if metric == "mean-iou-precision" else (12, 9)
    truth = [dice.run_lengths(height * width) for _ in ids]
    predicted = dice.mostly(truth, lambda: dice.run_lengths(height * width), 0.4)
    # How an empty mask is written, where it may be at all.
    empty = {"global-dice": ("-", "-"), "mean-dice": (" 1 1", ""), "mean-iou-precision": ("", ""), "f05-pixels": ("1 1", "2 1")}
    answers = {row["id_column"]: ids, row.get("truth", row["targets"])[0]: [mask or empty[metric][0] for mask in truth]}
    for name in row.get("answers_columns", []):
        answers[name] = [height if "height" in name else width] * count
    return answers, {row["id_column"]: ids, row["targets"][0]: [mask or empty[metric][1] for mask in predicted]}


@maker("dice-hausdorff")
def volumes(dice, row, count, _):
    height, width = dice.py.randint(5, 12), dice.py.randint(4, 9)
    slices = [(f"case{case}_day1_slice_{place:04d}", organ) for case in range(3) for place in range(3)
              for organ in ["large_bowel", "small_bowel", "stomach"]]
    ids, organs = map(list, zip(*slices))
    truth = [dice.run_lengths(height * width, 3) for _ in ids]
    predicted = dice.mostly(truth, lambda: dice.run_lengths(height * width, 3), 0.3)
    answers = {"id": ids, "class": organs, "predicted": truth, "image_width": [width] * len(ids), "image_height": [height] * len(ids)}
    return answers, {"id": ids, "class": organs, "predicted": predicted}


@maker("levenshtein")
def sentences(dice, row, count, _):
    ids, name = dice.ids(count), row["targets"][0]
    truth = [dice.words(1, 20) for _ in ids]
    return {row["id_column"]: ids, name: truth}, {row["id_column"]: ids, name: dice.mostly(truth, lambda: dice.words(1, 20), 0.3)}


@maker("levenshtein-ratio")
def gestures(dice, row, count, _):
    ids = dice.numbers(count)
    some = lambda: [" ".join(str(dice.py.randint(1, 20)) for _ in range(dice.py.randint(2, 20))) for _ in ids]
    return {"Id": ids, "Sequence": some()}, {"Id": ids, "Sequence": some()}


@maker("word-jaccard")
def phrases(dice, row, count, _):
    ids, name = dice.hexes(count), row["targets"][0]
    some = lambda least: {row["id_column"]: ids, name: [dice.words(least, 6) for _ in ids]}
    return some(1), some(0)


@maker("map-at-k")
def rankings(dice, row, count, _):
    ids, name = dice.hexes(count), row["targets"][0]
    known = ["w_%d" % place for place in range(12)]
    truth = [" ".join(dice.py.sample(known, 1 if row["k"] == 5 else dice.py.randint(1, 6))) for _ in ids]
    ranked = lambda: " ".join(dice.py.choice(known) for _ in range(dice.py.randint(1, 14))) + dice.py.choice(["", " "])
    return {row["id_column"]: ids, name: truth}, {row["id_column"]: ids, name: [ranked() for _ in ids]}


@maker("mean-column-spearman")
def ratings(dice, row, count, classes):
    ids = dice.numbers(count)
    some = lambda digits: {"qa_id": ids, **{name: numpy.round(dice.np.random(count), digits) for name in classes}}
    return some(1), some(dice.py.choice([1, 6]))


@maker("pearson")
def similarities(dice, row, count, _):
    ids = dice.hexes(count)
    truth = [dice.py.choice([0, 0.25, 0.5, 0.75, 1]) for _ in ids]
    return {"id": ids, "score": truth}, {"id": ids, "score": numpy.round(dice.np.normal(size=count), 6)}


@maker("kendall")
def orders(dice, row, count, _):
    ids = dice.hexes(count)
    truth = [dice.hexes(dice.py.randint(2, 6)) for _ in ids]
    joined = lambda rows: {"id": ids, "cell_order": [" ".join(cells) for cells in rows]}
    return joined(truth), joined([dice.py.sample(cells, len(cells)) for cells in truth])


@maker("lwlrap")
def audio(dice, row, count, classes):
    ids = [name + ".wav" for name in dice.hexes(count)]
    truth, scores = (dice.np.random((count, len(classes))) < 0.05).astype(int), dice.np.random((count, len(classes)))
    truth[0], truth[1], scores = 1, 0, numpy.round(scores, dice.py.choice([1, 5]))
    named = lambda values: {"fname": ids, **{name: values[:, place] for place, name in enumerate(classes)}}
    return named(truth), named(scores)


@maker("probabilistic-f1")
def cancers(dice, row, count, _):
    ids = [f"{number}_{dice.py.choice('LR')}" for number in dice.numbers(count)]
    predicted = numpy.round(dice.np.random(count) * 1.3 - 0.1, dice.py.choice([1, 6]))
    return {"prediction_id": ids, "cancer": dice.bits(count)}, {"prediction_id": ids, "cancer": predicted}


@maker("laplace-log-likelihood")
def lungs(dice, row, count, _):
    weeks = [(f"ID{patient:05d}", week) for patient in range(4) for week in sorted(dice.py.sample(range(-12, 133), 7))]
    ids = [f"{patient}_{week}" for patient, week in weeks]
    volumes = [dice.py.randint(1500, 4000) if dice.py.random() < 0.7 else numpy.nan for _ in ids]
    predicted = {"FVC": [dice.py.randint(1000, 5000) for _ in ids], "Confidence": [dice.py.randint(1, 400) for _ in ids]}
    return {"Patient_Week": ids, "Patient": [patient for patient, _ in weeks], "FVC": volumes}, {"Patient_Week": ids, **predicted}


@maker("angular-error")
def directions(dice, row, count, _):
    ids = dice.numbers(count)
    some = lambda: {"event_id": ids, "azimuth": dice.np.random(count) * 2 * numpy.pi, "zenith": dice.np.random(count) * numpy.pi}
    return some(), some()


@maker("haversine-percentiles")
def trips(dice, row, count, _):
    trips = [dice.py.choice(["2020-a/px", "2021-b/gp", "c"]) for _ in range(count)]
    times = [1600000000000 + place * 1000 for place in range(count)]
    latitudes, longitudes = 37 + dice.np.random(count), -122 + dice.np.random(count)
    near = lambda values: values + dice.np.normal(size=count) * 1e-3
    named = lambda latitudes, longitudes: {"tripId": trips, "UnixTimeMillis": times, "LatitudeDegrees": latitudes, "LongitudeDegrees": longitudes}
    return named(latitudes, longitudes), named(near(latitudes), near(longitudes))


@maker("centre-f1")
def characters(dice, row, count, _):
    ids, truth, predicted, number = dice.hexes(count), [], [], dice.py.randint
    for _ in ids:
        boxes = [(dice.py.choice(["U+306F", "U+5F8C"]), number(0, 50), number(0, 50), number(1, 20), number(1, 20)) for _ in range(number(0, 6))]
        truth.append(" ".join(" ".join(map(str, box)) for box in boxes))
        points = [(label if dice.py.random() < 0.8 else "U+4E00", x + dice.py.random() * width * 1.3, y + dice.py.random() * height * 1.2)
                  for label, x, y, width, height in boxes if dice.py.random() < 0.8]
        predicted.append(" ".join(f"{label} {x:.2f} {y:.2f}" for label, x, y in points))
    return {"image_id": ids, "labels": truth}, {"image_id": ids, "labels": predicted}


@maker("box-map")
def findings(dice, row, count, _):
    ids, truth, predicted, number = [name + "_image" for name in dice.hexes(count)], [], [], dice.py.randint
    shown = lambda boxes: " ".join(f"{label} {score} {x} {y} {x + width} {y + height}" for label, score, x, y, width, height in boxes)
    for _ in ids:
        boxes = [(dice.py.choice(["opacity", "none", "negative"]), 1, number(0, 50), number(0, 50), number(5, 20), number(5, 20)) for _ in range(number(1, 4))]
        truth.append(shown(boxes))
        near = [(label if dice.py.random() < 0.8 else "typical", round(dice.py.random(), 1), x + number(-3, 3), y + number(-3, 3), width, height)
                for label, _, x, y, width, height in boxes if dice.py.random() < 0.8]
        predicted.append(shown(near or [("none", 1, 0, 0, 1, 1)]))
    return {"id": ids, "PredictionString": truth}, {"id": ids, "PredictionString": predicted}


@maker("coco-map")
def abnormalities(dice, row, count, _):
    ids, rows, predicted, number = dice.hexes(count), [], [], dice.py.randint
    for name in ids:
        found = []
        for _ in range(number(1, 5)):
            label, x, y, width, height = number(0, 3), number(0, 100), number(0, 100), number(5, 60), number(5, 60)
            rows.append((name, f"c{label}", label, x, y, x + width, y + height))
            if dice.py.random() < 0.8:
                near = [side + number(-4, 4) for side in (x, y, x + width, y + height)]
                found.append((label if dice.py.random() < 0.8 else number(0, 5), round(dice.py.random(), 2), *near))
        predicted.append(" ".join(" ".join(map(str, box)) for box in found or [(14, 1, 0, 0, 1, 1)]))
    dice.py.shuffle(rows)
    names = ["image_id", "class_name", "class_id", "x_min", "y_min", "x_max", "y_max"]
    return dict(zip(names, map(list, zip(*rows)))), {"image_id": ids, "PredictionString": predicted}


@maker("cuboid-map")
def cars(dice, row, count, _):
    ids, truth, predicted, share, noise = dice.hexes(5), [], [], dice.py.random, dice.np.normal
    shown = lambda boxes: " ".join(" ".join(map(str, box)) for box in boxes)
    for _ in ids:
        boxes = [[1.0, share() * 100 + 2000, share() * 100 + 700, share(), share() * 2 + 1, share() * 4 + 2, share() * 2 + 1, share() * 6,
                  dice.py.choice(["car", "truck"])] for _ in range(dice.py.randint(1, 4))]
        near = [[round(share(), 1), *(float(value + noise() * 0.1) for value in box[1:4]), float(box[4] * (1 + noise() * 0.05)), *box[5:7],
                 float(box[7] + noise() * 0.05), box[8]] for box in boxes for _ in range(dice.py.randint(0, 2))]
        truth.append(shown(boxes))
        predicted.append(shown(near))
    return {"Id": ids, "PredictionString": truth}, {"Id": ids, "PredictionString": predicted}


@maker("answer-accuracy")
def questions(dice, row, count, _):
    answers, ids, predicted, number = [], [], [], dice.py.randint
    for _ in range(count):
        name = str(dice.py.getrandbits(60) - 2**59)
        ranges = [(number(0, 9), number(10, 20)) for _ in range(number(0, 2))]
        long = (-1, -1) if dice.py.random() < 0.4 else (number(0, 9), number(10, 20))
        as_range = lambda pair: {"start_token": pair[0], "end_token": pair[1]}
        answers.append({"example_id": name, "annotations": [{
            "long_answer": as_range(long), "short_answers": [as_range(pair) for pair in ranges],
            "yes_no_answer": dice.py.choice(["NONE", "NONE", "YES", "NO"])}]})
        ids += [name + "_long", name + "_short"]
        predicted += ["" if dice.py.random() < 0.3 else "%d:%d" % long, dice.py.choice(["", "YES", "NO"] + ["%d:%d" % pair for pair in ranges])]
    return answers, {"example_id": ids, "PredictionString": predicted}
