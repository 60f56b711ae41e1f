# %%
import os
import numpy as np
import pandas as pd
from tensorflow.keras.applications import VGG16
from tensorflow.keras.models import Model, load_model
from tensorflow.keras.layers import Dense, GlobalAveragePooling2D
from tensorflow.keras.preprocessing.image import ImageDataGenerator

# %%
DATA = '../input/aptos'
test_df = pd.read_csv(os.path.join(DATA, 'test.csv'))
sample = pd.read_csv(os.path.join(DATA, 'sample_submission.csv'))
gen = ImageDataGenerator(rescale=1./255)
flow = gen.flow_from_dataframe(test_df, directory=DATA, x_col='id_code', class_mode=None, target_size=(224, 224), batch_size=32, shuffle=False)

# %%
base = VGG16(weights='imagenet', include_top=False, input_shape=(224, 224, 3))
x = GlobalAveragePooling2D()(base.output)
x = Dense(256, activation='relu')(x)
out = Dense(5, activation='softmax')(x)
model = Model(base.input, out)
model.load_weights('../input/weights/vgg16_best.h5')

# %%
preds = model.predict(flow)
sample['diagnosis'] = preds.argmax(axis=1)
sample.to_csv('submission.csv', index=False)
sample.head()
