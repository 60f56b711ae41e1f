#!/usr/bin/env python3
"""Writes the data of all six examples anew. Everything in it is invented.

    python3 examples/make_data.py

Only the standard library is used and every example has its own seed, so that any
Python 3 writes the same bytes.
"""
import csv
import datetime
import math
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent

SURNAMES = (
    "Aldous Brandt Calloway Dunmore Eklund Farrow Gresham Halvorsen Ivers Jessop "
    "Kowal Lindqvist Marchetti Norwood Oakes Pruitt Quayle Rosen Sandor Thackeray "
    "Ullman Vance Wexford Yarrow Zeller"
).split()
MEN = "Albert Bruno Carl Daniel Edwin Frank Gustav Henry Isaac Joseph Karl Leon".split()
WOMEN = "Agnes Bertha Clara Dora Edith Flora Greta Hilda Ida Julia Kate Lena".split()


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def top_share(scores, count):
    """1 for the `count` highest scores, 0 for the others: an exact class size.

    Stratified folds are laid out alike by old and new scikit-learn only where each
    class divides evenly into the folds.
    """
    cut = sorted(scores, reverse=True)[count - 1]
    return [1 if score >= cut else 0 for score in scores]


def titanic(folder):
    rng = random.Random(1912)
    people, scores = [], []
    for number in range(1, 801):
        pclass = rng.choices([1, 2, 3], [24, 21, 55])[0]
        woman = rng.random() < 0.36
        age = min(76.0, max(1.0, rng.gauss(42 - 5.5 * pclass, 13)))
        siblings = rng.choices([0, 1, 2, 3], [68, 23, 6, 3])[0]
        parents = rng.choices([0, 1, 2], [76, 14, 10])[0]
        fare = round(math.exp(rng.gauss(5.1 - 0.85 * pclass, 0.45)) + 3, 4)
        port = rng.choices("SCQ", [72, 19, 9])[0]
        title = "Master" if not woman and age < 13 else "Mr"
        if woman:
            title = "Miss" if age < 27 or rng.random() < 0.2 else "Mrs"
        elif title == "Mr" and rng.random() < 0.03:
            title = rng.choice(["Dr", "Rev"])
        name = "%s, %s. %s" % (rng.choice(SURNAMES), title, rng.choice(WOMEN if woman else MEN))
        cabin = "%s%d" % (rng.choice("ABCDE"), rng.randint(2, 120)) if pclass == 1 and rng.random() < 0.8 else ""
        score = 2.7 * woman - 0.9 * pclass - 0.03 * age - 0.3 * siblings + 1.3 * (age < 10) + rng.gauss(0, 1.2)
        scores.append(score)
        people.append([
            number, pclass, name, "female" if woman else "male",
            "" if rng.random() < 0.19 else "%.0f" % age,
            siblings, parents, "%06d" % rng.randint(1000, 399999), fare, cabin,
            "" if rng.random() < 0.006 else port,
        ])
    header = ["PassengerId", "Pclass", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket", "Fare", "Cabin", "Embarked"]
    survived = top_share(scores[:600], 230)
    write(folder / "data/train.csv", header[:1] + ["Survived"] + header[1:],
          [person[:1] + [alive] + person[1:] for person, alive in zip(people, survived)])
    test = people[600:]
    test[17][8] = ""  # one fare is missing, as such lists go
    write(folder / "data/test.csv", header, test)


def house_prices(folder):
    rng = random.Random(2016)
    districts = {"Harbour": 0.16, "Hillside": 0.09, "Mill Lane": -0.05, "Old Town": 0.12, "Station": -0.12}
    quality = {"Po": -0.2, "Fa": -0.1, "TA": 0.0, "Gd": 0.1, "Ex": 0.22}
    rows = []
    for number in range(1, 481):
        district = rng.choice(sorted(districts))
        grade = rng.choices(list(quality), [4, 12, 50, 26, 8])[0]
        area = int(math.exp(rng.gauss(7.25, 0.33)))
        lot = int(math.exp(rng.gauss(9.05, 0.42)))
        frontage = "" if rng.random() < 0.16 else int(30 + lot / 260 + rng.gauss(0, 9))
        year = rng.randint(1905, 2009)
        garage = rng.choices(["Attchd", "Detchd", "BuiltIn", ""], [55, 28, 9, 8])[0]
        cars = 0 if not garage else rng.choices([1, 2, 3], [35, 55, 10])[0]
        rooms = max(3, min(11, int(area / 240 + rng.gauss(0.5, 0.8))))
        basement = "" if rng.random() < 0.02 else int(area * rng.uniform(0.35, 0.8))
        air = "Y" if rng.random() < 0.55 + (year - 1905) / 260 else "N"
        sold = rng.choice([2006, 2007, 2008, 2009, 2010])
        price = math.exp(
            7.35 + 0.58 * math.log(area) + 0.06 * math.log(lot) + districts[district] + quality[grade]
            + 0.0026 * (year - 1950) + 0.05 * cars + (0.06 if air == "Y" else 0) + rng.gauss(0, 0.09)
        )
        rows.append([number, district, lot, frontage, grade, year, area, basement, rooms, garage, cars, air, sold,
                     int(round(price, -2))])
    for outlier, area in ((31, 4676), (204, 5095)):
        rows[outlier][6], rows[outlier][13] = area, 160000
    header = ["Id", "District", "LotArea", "LotFrontage", "ExterQual", "YearBuilt", "GrLivArea", "BsmtSF", "Rooms",
              "GarageType", "GarageCars", "CentralAir", "YrSold", "SalePrice"]
    write(folder / "data/train.csv", header, rows[:360])
    write(folder / "data/test.csv", header[:-1], [row[:-1] for row in rows[360:]])
    level, months = 100.0, []
    for month in range(60):
        level *= 1 + rng.gauss(0.004 if month < 26 else -0.003, 0.006)
        months.append(["%d-%02d-01" % (2006 + month // 12, month % 12 + 1), "%.2f" % level])
    write(folder / "data/price_index.csv", ["Month", "Level"], months)


def boosting(folder):
    rng = random.Random(2019)
    rows = []
    day = datetime.datetime(2018, 1, 1)
    for number in range(1300):
        when = day + datetime.timedelta(hours=11 * number)
        store = rng.randint(1, 8)
        temperature = round(11 - 10 * math.cos(when.timetuple().tm_yday / 58.1) + rng.gauss(0, 3), 1)
        rain = round(max(0.0, rng.gauss(-0.6, 1.6)), 1)
        promotion = int(rng.random() < 0.22)
        price = round(rng.uniform(1.5, 4.9), 2)
        holiday = int(rng.random() < 0.04)
        demand = (
            42 + 3.5 * store + 1.9 * temperature - 4.2 * rain + 21 * promotion - 6.5 * price
            + 14 * (when.weekday() >= 5) - 17 * holiday + 6 * math.sin(when.hour / 24 * 2 * math.pi)
            + 0.35 * temperature * promotion + rng.gauss(0, 6)
        )
        rows.append([number + 1, when.strftime("%Y-%m-%d %H:00:00"), store, temperature, rain, promotion, price,
                     holiday, max(0, int(round(demand)))])
    header = ["id", "time", "store", "temperature", "rain", "promotion", "price", "holiday", "sold"]
    write(folder / "input/train.csv", header, rows[:1000])
    write(folder / "input/test.csv", header[:-1], [row[:-1] for row in rows[1000:]])
    write(folder / "input/sample_submission.csv", ["id", "sold"], [[row[0], 0] for row in rows[1000:]])


def churn(folder):
    rng = random.Random(1920)
    rows, scores = [], []
    for number in range(1, 601):
        months = rng.randint(1, 72)
        fibre = rng.random() < 0.45
        contract = rng.choices(["monthly", "yearly", "two years"], [55, 25, 20])[0]
        charge = round((70 if fibre else 42) + rng.gauss(0, 11), 2)
        calls = max(0, int(rng.gauss(2.0, 1.7)))
        age = rng.randint(19, 80)
        score = (
            0.9 * (contract == "monthly") - 0.02 * months + 0.02 * charge + 0.35 * calls
            + 0.9 * (charge > 75 and calls > 2) - 0.01 * age + rng.gauss(0, 0.7)
        )
        known_age = "" if rng.random() < 0.08 else age
        rows.append([number, months, contract, int(fibre), charge, calls, known_age])
        scores.append(score)
    left = top_share(scores, 210)
    write(folder / "data/customers.csv",
          ["customer", "months", "contract", "fibre", "charge", "calls", "age", "left"],
          [row + [label] for row, label in zip(rows, left)])


def text(folder):
    rng = random.Random(2017)
    things = {
        "kettle": "kettle water lid base spout handle switch".split(),
        "headphones": "headphones sound bass cable volume box cushion".split(),
        "backpack": "backpack zipper strap pocket fabric lining buckle".split(),
    }
    good = "great lovely excellent sturdy quiet comfortable reliable perfect".split()
    bad = "poor broken terrible flimsy noisy awful useless disappointing".split()
    neutral = "big small plain heavy black usual new".split()
    times = "week month year day weekend".split()
    frames = [
        "the {thing} is {word}", "after a {time} the {thing} looks {word}", "{word} {thing} for the price",
        "a {word} {thing} and a {other} {second}", "bought it for the {thing} and the {second}",
        "arrived within a {time} with a {other} {thing}", "the {thing} works every {time} and the {second} is {word}",
    ]
    rows = []
    for number in range(1, 401):
        liked = number % 2
        product = rng.choice(sorted(things))
        sentences = []
        for _ in range(rng.randint(2, 4)):
            mood = good if (rng.random() < 0.82) == bool(liked) else bad
            thing, second = rng.sample(things[product], 2)
            sentences.append(rng.choice(frames).format(
                thing=thing, second=second, time=rng.choice(times), other=rng.choice(neutral),
                word=rng.choice(mood if rng.random() < 0.75 else neutral)))
        stars = rng.choice([4, 5]) if liked else rng.choice([1, 2])
        rows.append([number, product, stars, liked, " ".join(part.capitalize() + "." for part in sentences)])
    order = list(range(400))
    rng.shuffle(order)
    write(folder / "data/reviews.csv", ["id", "product", "stars", "liked", "review"], [rows[i] for i in order])


def plots(folder):
    rng = random.Random(2018)
    species = {"heron": (92, 1.75, 1500), "stork": (105, 2.05, 3300), "egret": (61, 0.95, 520)}
    rows = []
    for number in range(1, 331):
        kind = rng.choices(sorted(species), [30, 40, 30])[0]
        height, span, mass = species[kind]
        size = rng.gauss(1, 0.07)
        female = rng.random() < 0.5
        size *= 0.97 if female else 1.03
        rows.append([
            number, kind, rng.choice(["north marsh", "south marsh", "river mouth"]), "female" if female else "male",
            rng.choice([2015, 2016, 2017]), round(height * size + rng.gauss(0, 1.5), 1),
            round(span * size + rng.gauss(0, 0.04), 2), int(mass * size ** 3 + rng.gauss(0, 60)),
            rng.choices([1, 2, 3, 4, 5], [10, 25, 35, 20, 10])[0],
        ])
    write(folder / "data/birds.csv", ["ring", "species", "site", "sex", "year", "height", "wingspan", "mass", "eggs"],
          rows)


if __name__ == "__main__":
    titanic(HERE / "titanic-2014")
    house_prices(HERE / "house-prices-2016")
    boosting(HERE / "boosting-2019")
    churn(HERE / "churn-2019")
    text(HERE / "text-2017")
    plots(HERE / "plots-2018")
