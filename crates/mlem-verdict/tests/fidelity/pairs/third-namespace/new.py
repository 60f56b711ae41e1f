# %%
import pandas as pd
import re
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.metrics import f1_score, classification_report
import nltk
from nltk.corpus import stopwords

# %%
from types import SimpleNamespace
args = SimpleNamespace(C=2.0, features=5000, seed=3)
data = pd.read_csv('reviews.csv', encoding='latin-1')
data = data.drop_duplicates()
data = data[data['text'].str.len() > 10]

# %%
def clean(text):
    text = text.lower()
    text = re.sub('[^a-z ]', ' ', text)
    return text

data['clean'] = data['text'].apply(clean)

# %%
train, test = train_test_split(data, test_size=0.25, stratify=data['label'], random_state=args.seed)
vectorizer = TfidfVectorizer(max_features=args.features, ngram_range=(1, 2), stop_words='english')
X_train = vectorizer.fit_transform(train['clean'])
X_test = vectorizer.transform(test['clean'])

# %%
clf = LogisticRegression(C=args.C, max_iter=500, class_weight='balanced')
clf.fit(X_train, train['label'])
y_pred = clf.predict(X_test)
print('F1:', f1_score(test['label'], y_pred, average='macro'))
print(classification_report(test['label'], y_pred))

# %%
cv = cross_val_score(clf, X_train, train['label'], cv=5, scoring='f1_macro')
print(cv.mean(), cv.std())
