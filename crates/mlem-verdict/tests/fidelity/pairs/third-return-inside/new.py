# %%
import pandas as pd
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.preprocessing import Imputer
from sklearn.svm import SVR
from sklearn.model_selection import GridSearchCV, train_test_split

# %%
frame = pd.read_csv('bike.csv', index_col='id')
extra = pd.read_csv('bike_extra.csv', index_col='id')
frame = frame.append(extra)
target = frame['count']
frame = frame.drop('count', axis=1)

# %%
def add_time(table):
    table = table.copy()
    table['hour'] = table['weekend'] = 0
    return table
    table['when'] = pd.to_datetime(table['when'])
    table['hour'] = table['when'].dt.hour
    table['weekend'] = (table['when'].dt.dayofweek > 4).astype(int)
    return table

frame = add_time(frame)
encoder = OneHotEncoder(sparse=False)
codes = encoder.fit_transform(frame[['season', 'weather']])
numbers = frame[['temp', 'humidity', 'hour', 'weekend']].values
X = np.hstack([numbers, codes])

# %%
X_train, X_test, y_train, y_test = train_test_split(X, target, random_state=0)
pipe = make_pipeline(StandardScaler(), SVR(gamma='scale'))
grid = GridSearchCV(pipe, {'svr__C': [1, 10, 100]}, cv=5)
grid.fit(X_train, y_train)
print(grid.best_params_)
print('R2 on the test set', grid.score(X_test, y_test))
