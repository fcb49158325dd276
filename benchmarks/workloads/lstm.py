"""LSTM: how often a noisy wave of 32 steps crosses zero."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
count, length = 2560, 32
speed = rng.uniform(0.15, 0.9, size=(count, 1))
phase = rng.uniform(0, 2 * np.pi, size=(count, 1))
wave = np.sin(speed * np.arange(length) + phase)
x = (wave + 0.3 * rng.normal(size=wave.shape))[..., None].astype("float32")
y = speed[:, 0].astype("float32")

model = keras.Sequential([keras.Input((length, 1)), layers.LSTM(32), layers.Dense(1, dtype="float32")])
model.compile(keras.optimizers.Adam(5e-3), "mse", metrics=["mae"])
model.fit(x[:2048], y[:2048], batch_size=32, epochs=6, validation_data=(x[2048:], y[2048:]))
