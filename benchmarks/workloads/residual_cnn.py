"""Residual CNN with batch normalisation on coloured 16x16 blobs."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
count, side = 2560, 16
kind = rng.integers(0, 4, count)
rows, columns = np.mgrid[0:side, 0:side]
place = rng.uniform(4, 12, size=(count, 2, 1, 1))
far = np.hypot(rows - place[:, 0], (columns - place[:, 1]) * np.where(kind % 2, 0.5, 1.0)[:, None, None])
size = np.where(kind // 2, 3.5, 2.5)[:, None, None]
x = (
    (far < size)[..., None] * rng.uniform(0.4, 1.0, (count, 1, 1, 3)) + 0.4 * rng.normal(size=(count, side, side, 3))
).astype("float32")


def block(tensor, filters):
    """Two convolutions and a shortcut."""
    short = layers.Conv2D(filters, 1, strides=2, use_bias=False)(tensor)
    tensor = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(tensor)
    tensor = layers.Activation("relu")(layers.BatchNormalization()(tensor))
    tensor = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(tensor))
    return layers.Activation("relu")(layers.Add()([tensor, short]))


inputs = keras.Input((side, side, 3))
hidden = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
hidden = block(block(hidden, 24), 32)
outputs = layers.Dense(4, activation="softmax", dtype="float32")(layers.GlobalAveragePooling2D()(hidden))
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:2048], kind[:2048], batch_size=32, epochs=6, validation_data=(x[2048:], kind[2048:]))
