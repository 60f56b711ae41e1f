# %%
import numpy as np
import pandas as pd
from sklearn.cross_validation import train_test_split
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
%matplotlib inline
import matplotlib.pyplot as plt

# %%
np.random.seed(42)
train = pd.read_csv('../input/train.csv')
test = pd.read_csv('../input/test.csv')
train.head()

# %% [markdown]
# Fill the holes and encode the sexes.

# %%
train['Age'] = train['Age'].fillna(train['Age'].median())
train['Sex'] = train['Sex'].map({'male': 0, 'female': 1})
test['Age'] = test['Age'].fillna(train['Age'].median())
test['Sex'] = test['Sex'].map({'male': 0, 'female': 1})

# %%
features = ['Pclass', 'Sex', 'Age', 'Fare']
X = train[features]
y = train['Survived']
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=42)

# %%
model = RandomForestClassifier(n_estimators=200, max_depth=6, random_state=42)
model.fit(X_train, y_train)

# %%
pred = model.predict(X_val)
print('accuracy:', accuracy_score(y_val, pred))
plt.hist(train['Age'], bins=20)
plt.title('Age')
plt.show()

# %%
submission = pd.DataFrame({'PassengerId': test['PassengerId'], 'Survived': model.predict(test[features].fillna(0))})
submission.to_csv('submission.csv', index=False)
