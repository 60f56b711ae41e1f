# %%
import pandas as pd
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

# %%
df = pd.read_csv('houses.csv')
print("rows", len(df))
X = df[['area', 'rooms']].to_numpy()
y = df['price'].to_numpy()

# %%
errors = []
for train, test in KFold(n_splits=4).split(X):
    model = LinearRegression()
    model.fit(X[train], y[train])
    errors.append(np.mean(np.abs(model.predict(X[test]) - y[test])))
print("mean error", np.mean(errors))

# %%
counts = {}
for kind in df['kind']:
    counts[kind] = counts.get(kind, 0) + 1
for kind, n in counts.items():
    print(kind, n)
