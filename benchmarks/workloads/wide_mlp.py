"""Wide MLP: a regression in 256 features, SGD with momentum."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
count, width = 6144, 256
x = rng.normal(size=(count, width)).astype("float32")
inner = np.tanh(x @ rng.normal(size=(width, 8)) / np.sqrt(width))
y = (inner @ rng.normal(size=8) + 0.1 * rng.normal(size=count)).astype("float32")

model = keras.Sequential(
    [
        keras.Input((width,)),
        layers.Dense(1024, activation="relu"),
        layers.Dense(1024, activation="relu"),
        layers.Dense(1, dtype="float32"),
    ]
)
model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse", metrics=["mae"])
model.fit(x[:5120], y[:5120], batch_size=64, epochs=5, validation_data=(x[5120:], y[5120:]))
