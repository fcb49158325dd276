"""An LSTM that predicts the next value of a noisy seasonal series."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

time = np.arange(7000)
series = np.sin(2 * np.pi * time / 24) + 0.5 * np.sin(2 * np.pi * time / 168) + rng.normal(scale=0.15, size=time.size)
windows = np.lib.stride_tricks.sliding_window_view(series.astype("float32"), 49)
x, y = windows[:, :48, None], windows[:, 48:]

model = keras.Sequential([keras.Input((48, 1)), layers.LSTM(64), layers.Dense(32, activation="relu"), layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse", metrics=["mae"])
model.fit(x[:5500], y[:5500], batch_size=64, epochs=5, validation_data=(x[5500:], y[5500:]))
