"""Small CNN: three classes of striped 20x20 images."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
count, side = 3072, 20
kind = rng.integers(0, 3, count)
rows, columns = np.mgrid[0:side, 0:side]
stripes = np.stack([np.sin(rows), np.sin(columns), np.sin((rows + columns) / 1.4)])
x = (0.35 * stripes[kind] + rng.normal(size=(count, side, side)))[..., None].astype("float32")

model = keras.Sequential(
    [
        keras.Input((side, side, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(3, activation="softmax", dtype="float32"),
    ]
)
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:2048], kind[:2048], batch_size=32, epochs=6, validation_data=(x[2048:], kind[2048:]))
