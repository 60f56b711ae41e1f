"""Print the names of the public estimators of the scikit-learn that runs this, one a line.

The union over an old and a current release is the list `estimators.classes` of reprs.toml.
Runs on Python 2.7 and 3.
"""
import importlib
import inspect
import pkgutil
import warnings

warnings.simplefilter("ignore")
import sklearn
from sklearn.base import BaseEstimator

names = {"XGBClassifier", "XGBRegressor", "XGBRanker", "LGBMClassifier", "LGBMRegressor", "LGBMRanker", "LGBMModel"}
for _, module, _ in pkgutil.walk_packages(sklearn.__path__, "sklearn."):
    if ".tests" in module or "externals" in module or "conftest" in module:
        continue
    try:
        loaded = importlib.import_module(module)
    except BaseException:  # optional dependencies, setup.py modules
        continue
    for name, kind in inspect.getmembers(loaded, inspect.isclass):
        if issubclass(kind, BaseEstimator) and not name.startswith("_"):
            names.add(name)
print("\n".join(sorted(names)))
