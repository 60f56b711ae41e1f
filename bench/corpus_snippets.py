"""Pieces of code as people write them in old data-science notebooks.

Every function of `ORDINARY` returns the source of one cell that runs unchanged today; every entry
of `BREAKAGES` holds cells that do not. All of it is written for this corpus.
"""


def _columns(rng):
    names = ["age", "fare", "price", "sqft", "rooms", "income", "score", "height", "weight", "year",
             "clicks", "duration", "temp", "humidity", "distance", "rating", "votes", "lot_area"]
    return rng.sample(names, 5)


def _print(rng, python2, label, value):
    if python2:
        return f"print '{label}:', {value}"
    return rng.choice([f"print('{label}:', {value})", f'print("{label}: {{}}".format({value}))'])


def imports(rng, python2):
    lines = ["import numpy as np", "import pandas as pd", "import matplotlib.pyplot as plt"]
    lines += rng.sample(
        ["import os", "import re", "import sys", "import seaborn as sns", "from collections import Counter",
         "import warnings\nwarnings.filterwarnings('ignore')", "from datetime import datetime", "import itertools",
         "from scipy import stats", "import json", "from sklearn.metrics import accuracy_score",
         "from sklearn.ensemble import RandomForestClassifier", "import math", "import random", "import time"],
        rng.randint(1, 7))
    if rng.random() < 0.6:
        lines.append("%matplotlib inline")
    return "\n".join(lines)


def load(rng, python2):
    name = rng.choice(["train", "data", "titanic", "houses", "sales", "users", "listings"])
    arguments = rng.choice(["", ", index_col=0", ", parse_dates=['date']", ", sep=';'", ", header=None"])
    return f"df = pd.read_csv('../input/{name}.csv'{arguments})\ndf.head()"


def look(rng, python2):
    return rng.choice(["df.head()", "df.describe()", "df.info()", "df.shape", "df.isnull().sum()", "df.dtypes",
                       "df.tail(10)", "df.columns", "df.sample(5, random_state=0)"])


def count(rng, python2):
    column = _columns(rng)[0]
    return rng.choice([
        f"df['{column}'].value_counts()",
        f"df.groupby('{column}').size()",
        f"df['{column}'].value_counts(normalize=True).head({rng.randint(3, 20)})",
        f"df.groupby('{column}').agg({{'{_columns(rng)[1]}': ['mean', 'std', 'count']}})",
        f"pd.crosstab(df['{column}'], df['{_columns(rng)[2]}'])",
    ])


def clean(rng, python2):
    a, b, c, d, _ = _columns(rng)
    lines = [f"df['{a}'] = df['{a}'].fillna(df['{a}'].median())", f"df = df.drop(['{b}'], axis=1)",
             f"df['{c}'] = df['{c}'].astype(int)", f"df.loc[df['{d}'] > {rng.randint(10, 900)}, '{d}'] = 0",
             f"df = df[df['{a}'].notnull()]", f"df['{c}_log'] = np.log1p(df['{c}'])",
             f"df['{d}'] = df['{d}'].map({{'yes': 1, 'no': 0}})", "df = pd.get_dummies(df)",
             "df = df.reset_index(drop=True)", f"df['{b}'].fillna('missing', inplace=True)"]
    return "\n".join(rng.sample(lines, rng.randint(2, 6)))


def feature_function(rng, python2):
    a, b, c, d, e = _columns(rng)
    return f'''def add_features(frame, threshold={rng.randint(2, 40)}):
    """Adds the columns that the model needs."""
    frame = frame.copy()
    frame['{a}_per_{b}'] = frame['{a}'] / (frame['{b}'] + 1)
    frame['is_large'] = (frame['{c}'] > threshold).astype(int)
    for column in ['{a}', '{b}', '{d}']:
        mean, std = frame[column].mean(), frame[column].std()
        if std == 0:
            continue
        frame[column + '_scaled'] = (frame[column] - mean) / std
    names = {{'{e}': '{e}_old'}}
    return frame.rename(columns=names)

df = add_features(df)
df.head({rng.randint(3, 12)})'''


def plot(rng, python2):
    a, b, *_ = _columns(rng)
    return f'''fig, ax = plt.subplots(figsize=({rng.randint(6, 16)}, {rng.randint(4, 10)}))
ax.{rng.choice(['hist', 'plot'])}(df['{a}'].values, color='{rng.choice(['C0', 'steelblue', 'tomato', 'k'])}')
ax.set_xlabel('{a}')
ax.set_ylabel('{b}')
plt.title("{a} against {b}")
plt.show()'''


def seaborn_plot(rng, python2):
    a, b, *_ = _columns(rng)
    return rng.choice([
        f"sns.boxplot(x='{a}', y='{b}', data=df)",
        "corr = df.corr()\nplt.figure(figsize=(12, 9))\nsns.heatmap(corr, vmax=.8, square=True, annot=True)",
        f"sns.pairplot(df[['{a}', '{b}']])",
        f"sns.countplot(x='{a}', data=df)\nplt.xticks(rotation=90)\nplt.show()",
    ])


def numpy_math(rng, python2):
    n, k = rng.randint(10, 1000), rng.randint(2, 9)
    return f'''rng = np.random.RandomState({rng.randint(0, 100)})
X = rng.randn({n}, {k})
w = rng.uniform(-1, 1, size={k})
y = X.dot(w) + {rng.random():.2f} * rng.randn({n})
U, s, V = np.linalg.svd(X, full_matrices=False)
(s ** 2 / np.sum(s ** 2))[:{min(k, 4)}]'''


def own_class(rng, python2):
    return f'''class {rng.choice(['Perceptron', 'LinearModel', 'KNN', 'Stump', 'GradientDescent'])}(object):
    """A small model, written to understand it.

    Parameters
    ----------
    eta : float
        Learning rate.
    n_iter : int
        Passes over the data.
    """

    def __init__(self, eta={rng.random():.3f}, n_iter={rng.randint(5, 100)}):
        self.eta = eta
        self.n_iter = n_iter

    def fit(self, X, y):
        self.w_ = np.zeros(1 + X.shape[1])
        self.errors_ = []
        for _ in range(self.n_iter):
            errors = 0
            for xi, target in zip(X, y):
                update = self.eta * (target - self.predict(xi))
                self.w_[1:] += update * xi
                self.w_[0] += update
                errors += int(update != 0.0)
            self.errors_.append(errors)
        return self

    def net_input(self, X):
        return np.dot(X, self.w_[1:]) + self.w_[0]

    def predict(self, X):
        return np.where(self.net_input(X) >= 0.0, 1, -1)'''


def split_data(rng, python2):
    target = _columns(rng)[0]
    return f'''from sklearn.model_selection import train_test_split

X = df.drop('{target}', axis=1)
y = df['{target}']
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size={rng.choice([0.2, 0.25, 0.3])}, random_state={rng.randint(0, 99)})'''


def model(rng, python2):
    module, name, arguments = rng.choice([
        ("linear_model", "LogisticRegression", "C={:.2f}".format(rng.uniform(0.01, 10))),
        ("ensemble", "RandomForestClassifier", f"n_estimators={rng.randint(10, 900)}, random_state=0"),
        ("svm", "SVC", f"kernel='rbf', C={rng.randint(1, 100)}, gamma='auto'"),
        ("neighbors", "KNeighborsClassifier", f"n_neighbors={rng.randint(1, 30)}"),
        ("tree", "DecisionTreeClassifier", f"max_depth={rng.randint(2, 12)}, criterion='entropy'"),
        ("ensemble", "GradientBoostingClassifier", f"n_estimators={rng.randint(50, 500)}, subsample=0.8"),
    ])
    return f'''from sklearn.{module} import {name}

clf = {name}({arguments})
clf.fit(X_train, y_train)
y_pred = clf.predict(X_test)
{_print(rng, python2, 'accuracy', 'clf.score(X_test, y_test)')}'''


def evaluate(rng, python2):
    return f'''from sklearn.metrics import confusion_matrix, classification_report
from sklearn.model_selection import cross_val_score

scores = cross_val_score(clf, X, y, cv={rng.randint(3, 10)})
{_print(rng, python2, 'mean score', 'scores.mean()')}
{_print(rng, python2, 'report', 'classification_report(y_test, y_pred)')}
confusion_matrix(y_test, y_pred)'''


def loop(rng, python2):
    return f'''results = {{}}
for depth in range(1, {rng.randint(4, 30)}):
    for rate in [0.01, 0.05, 0.1, {rng.random():.2f}]:
        score = 1.0 / (depth + rate)  # stands for a slow fit
        results[(depth, rate)] = score
best = max(results, key=results.get)
{_print(rng, python2, 'best', 'best')}'''


def text(rng, python2):
    return f'''from sklearn.feature_extraction.text import TfidfVectorizer

def tokenize(document):
    words = re.findall(r"[a-z']+", document.lower())
    return [word for word in words if len(word) > {rng.randint(1, 4)}]

vectorizer = TfidfVectorizer(tokenizer=tokenize, min_df={rng.randint(1, 9)}, ngram_range=(1, {rng.randint(1, 3)}))
X = vectorizer.fit_transform(df['text'])
X.shape'''


def submit(rng, python2):
    return f'''submission = pd.DataFrame({{'Id': test_ids, 'Target': clf.predict(X_test)}})
submission.to_csv('submission_{rng.randint(1, 30)}.csv', index=False)
submission.head()'''


def comment_only(rng, python2):
    return rng.choice(["# TODO: look at the outliers again", "", "#!ls ../input", "!ls ../input", "%time clf.fit(X_train, y_train)"])


ORDINARY = [
    (load, 6), (look, 22), (count, 9), (clean, 12), (feature_function, 5), (plot, 14), (seaborn_plot, 6),
    (numpy_math, 7), (own_class, 3), (split_data, 4), (model, 9), (evaluate, 5), (loop, 5), (text, 3),
    (submit, 2), (comment_only, 4),
]

# Kind: (share of the notebooks, cells). The shares are those counted on 1,323 public notebooks of
# 2013 to 2022, where 34 % hold at least one.
BREAKAGES = {
    "print-statement": (0.067, ["print 'rows:', len(df)", "print df.head()", "for name in df.columns:\n    print name,\nprint"]),
    "old-sklearn-modules": (0.055, [
        "from sklearn.cross_validation import train_test_split\nX_train, X_test = train_test_split(X, test_size=0.3)",
        "from sklearn.grid_search import GridSearchCV\ngrid = GridSearchCV(clf, {'C': [1, 10]}, cv=5)\ngrid.fit(X, y)",
        "from sklearn import cross_validation\nscores = cross_validation.cross_val_score(clf, X, y, cv=5)",
    ]),
    "frame-append": (0.052, ["rows = pd.DataFrame({'a': [1]})\ndf = df.append(rows, ignore_index=True)", "full = pd.DataFrame()\nfor part in parts:\n    full = full.append(pd.read_csv(part))"]),
    "seaborn-style": (0.045, ["plt.style.use('seaborn')", "plt.style.use('seaborn-whitegrid')"]),
    "pylab-magic": (0.042, ["%pylab inline", "%pylab inline\npylab.rcParams['figure.figsize'] = (10, 6)"]),
    "tf1-session": (0.033, ["import tensorflow as tf\nx = tf.placeholder(tf.float32, shape=[None, 784])\nwith tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())"]),
    "load-boston": (0.027, ["from sklearn.datasets import load_boston\nboston = load_boston()\nX, y = boston.data, boston.target"]),
    "distplot-factorplot": (0.026, ["import seaborn as sns\nsns.distplot(df['fare'].dropna(), bins=20)", "import seaborn as sns\nsns.factorplot(x='sex', y='survived', data=df, kind='bar')"]),
    "get-feature-names": (0.022, ["from sklearn.feature_extraction.text import CountVectorizer\ncv = CountVectorizer()\ncv.fit(df['text'])\ncv.get_feature_names()[:20]"]),
    "numpy-aliases": (0.019, ["X = df.values.astype(np.float)", "mask = np.zeros((3, 3), dtype=np.int)"]),
    "ix": (0.016, ["df.ix[0]", "df.ix[:, 'age'] = 0"]),
    "normed": (0.012, ["plt.hist(df['age'], bins=30, normed=True)\nplt.show()"]),
    "as-matrix": (0.011, ["X = df.as_matrix()", "y = df['target'].as_matrix()"]),
    "np-utils": (0.011, ["from keras.utils import np_utils\nY = np_utils.to_categorical(y, 10)"]),
    "keras-arguments": (0.010, ["model.fit(X_train, y_train, nb_epoch=10, batch_size=32)", "model.fit_generator(train_flow, steps_per_epoch=100, epochs=3)"]),
    "one-hot-sparse": (0.010, ["from sklearn.preprocessing import OneHotEncoder\nenc = OneHotEncoder(sparse=False)\nenc.fit_transform(df[['sex']])"]),
    "frame-sort": (0.009, ["df.sort('age', ascending=False).head()"]),
    "imputer": (0.008, ["from sklearn.preprocessing import Imputer\nimp = Imputer(strategy='median')\nX = imp.fit_transform(X)"]),
}

MARKDOWN = [
    "## {0}\n\nWe look at the {1} first, because it explains most of the {2}.",
    "# {0} of the {1}\n\n* a first look\n* cleaning\n* a model for the {2}\n\nThe data come from a survey; see the *notes* below.",
    "The {1} is skewed: its mean is far above its median. A logarithm helps, as the next figure shows.\n\n"
    "$$\\hat{{y}} = \\beta_0 + \\beta_1 x_{{{0}}} + \\epsilon$$\n",
    "### Exercise\n\nRepeat this with `{1}` in place of `{2}`. What changes, and why? (Größe, café, naïve: {0})",
    "> {0}: the {1} and the {2} are not independent.\n\nHence we need a model that can cope with both. "
    "Trees do, without any scaling; a linear model needs dummies. We try the simple one first and compare.",
]
