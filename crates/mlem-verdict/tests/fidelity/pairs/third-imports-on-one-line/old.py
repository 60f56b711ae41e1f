# %%
import pandas as pd
import numpy as np
import xgboost as xgb
from sklearn.model_selection import KFold
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import StandardScaler
import seaborn as sns

# %%
df = pd.read_csv('data/train.csv')
df = df.dropna(subset=['SalePrice'])
df['LogPrice'] = np.log1p(df['SalePrice'])
num_cols = ['GrLivArea', 'OverallQual', 'YearBuilt', 'TotalBsmtSF']
df[num_cols] = df[num_cols].fillna(df[num_cols].mean())

# %%
sns.distplot(df['SalePrice'])

# %%
scaler = StandardScaler()
X = scaler.fit_transform(df[num_cols])
y = df['LogPrice'].values

# %%
params = {'objective': 'reg:squarederror', 'eta': 0.05, 'max_depth': 5, 'subsample': 0.8, 'seed': 1}
scores = []
kf = KFold(n_splits=5, shuffle=True, random_state=1)
for train_index, valid_index in kf.split(X):
    dtrain = xgb.DMatrix(X[train_index], label=y[train_index])
    dvalid = xgb.DMatrix(X[valid_index], label=y[valid_index])
    booster = xgb.train(params, dtrain, num_boost_round=500)
    fold_pred = booster.predict(dvalid)
    rmse = np.sqrt(mean_squared_error(y[valid_index], fold_pred))
    scores.append(rmse)
    print('fold rmse', rmse)

# %%
print('mean rmse: %.4f' % np.mean(scores))
