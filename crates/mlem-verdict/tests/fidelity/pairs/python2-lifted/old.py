# %%
import pandas as pd
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.cross_validation import KFold

# %%
df = pd.read_csv('houses.csv')
print "rows", len(df)
X = df[['area', 'rooms']].as_matrix()
y = df['price'].as_matrix()

# %%
errors = []
for train, test in KFold(len(X), n_folds=4):
    model = LinearRegression()
    model.fit(X[train], y[train])
    errors.append(np.mean(np.abs(model.predict(X[test]) - y[test])))
print "mean error", np.mean(errors)

# %%
counts = {}
for kind in df['kind']:
    counts[kind] = counts.get(kind, 0) + 1
for kind, n in counts.iteritems():
    print kind, n
