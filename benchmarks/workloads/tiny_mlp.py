"""Tiny MLP: two interleaved spirals; all of a step is overhead."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
count = 6000
kind = rng.integers(0, 2, count)
turn = 2.6 * np.sqrt(rng.uniform(0.05, 1.0, count)) * np.pi
x = np.stack([turn * np.cos(turn + np.pi * kind), turn * np.sin(turn + np.pi * kind)], axis=1) / 4.0
x = (x + 0.06 * rng.normal(size=x.shape)).astype("float32")

model = keras.Sequential(
    [
        keras.Input((2,)),
        layers.Dense(32, activation="tanh"),
        layers.Dense(32, activation="tanh"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
model.fit(x[:4800], kind[:4800], batch_size=16, epochs=8, validation_data=(x[4800:], kind[4800:]))
