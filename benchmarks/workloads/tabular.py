"""Embedding tabular: four categorical columns of some hundred values and eight numbers."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
count, sizes = 10240, (500, 200, 50, 12)
codes = np.stack([rng.integers(0, size, count) for size in sizes], axis=1)
numbers = rng.normal(size=(count, 8)).astype("float32")
effect = sum(rng.normal(size=size)[codes[:, place]] for place, size in enumerate(sizes))
logit = 0.8 * effect + numbers @ rng.normal(size=8) * 0.5
y = (rng.uniform(size=count) < 1 / (1 + np.exp(-2 * logit))).astype("int32")

code_input, number_input = keras.Input((4,), dtype="int32"), keras.Input((8,))
columns = [layers.Embedding(size, 16)(code_input[:, place]) for place, size in enumerate(sizes)]
hidden = layers.Concatenate()([*columns, number_input])
for width in (128, 64):
    hidden = layers.Dropout(0.1)(layers.Dense(width, activation="relu")(hidden))
model = keras.Model([code_input, number_input], layers.Dense(1, activation="sigmoid", dtype="float32")(hidden))
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["accuracy"])
train, test = slice(0, 8192), slice(8192, None)
model.fit(
    [codes[train], numbers[train]],
    y[train],
    batch_size=32,
    epochs=4,
    validation_data=([codes[test], numbers[test]], y[test]),
)
