# %%
import warnings
warnings.filterwarnings('ignore')
import pandas as pd
import numpy as np
import matplotlib.pyplot as plt
import lightgbm as lgb
from sklearn.externals import joblib
from sklearn.metrics import mean_absolute_error

# %%
SEED = 2019
N_DAYS = 28
sales = pd.read_csv('sales.csv', parse_dates=['date'])
sales = sales.sort_values('date')
sales['lag_7'] = sales.groupby('store')['units'].shift(7)
sales['month'] = sales['date'].dt.month
sales = sales.dropna()

# %%
cutoff = sales['date'].max() - pd.Timedelta(days=N_DAYS)
train = sales[sales['date'] <= cutoff]
valid = sales[sales['date'] > cutoff]
cols = ['store', 'lag_7', 'month']

# %%
model = lgb.LGBMRegressor(n_estimators=300, learning_rate=0.05, num_leaves=31, random_state=SEED)
model.fit(train[cols], train['units'])
joblib.dump(model, 'model.pkl')

# %%
p = valid['store'].map(train.groupby('store')['units'].mean())
mae = mean_absolute_error(valid['units'], p)
print('MAE: {:.3f}'.format(mae))

# %%
plt.figure(figsize=(12, 4))
plt.plot(valid['date'], valid['units'], label='true')
plt.plot(valid['date'], p, label='predicted')
plt.legend()
