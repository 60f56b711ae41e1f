"""What every house price notebook of ours needs."""
import numpy as np
import pandas as pd

from sklearn.cross_validation import KFold, cross_val_score


def load(folder='data'):
    """Both tables, and one of both together without the price."""
    train = pd.read_csv(folder + '/train.csv')
    test = pd.read_csv(folder + '/test.csv')
    both = train.drop('SalePrice', 1).append(test, ignore_index=True)
    return train, test, both


def without_outliers(train, largest):
    """The rows whose living area is believable."""
    keep = np.ones(len(train), dtype=np.bool)
    keep[np.where(train['GrLivArea'] > largest)[0]] = False
    return train.ix[keep]


def rmse_cv(model, X, y, n_folds=5):
    """Root mean squared error in each of the folds."""
    folds = KFold(len(y), n_folds=n_folds, shuffle=True, random_state=42)
    return np.sqrt(-cross_val_score(model, X, y, scoring='mean_squared_error', cv=folds))
