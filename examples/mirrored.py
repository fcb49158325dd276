"""Data-parallel training under MirroredStrategy, on two logical CPUs."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
x = rng.normal(size=(8000, 32)).astype("float32")
y = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + rng.normal(scale=0.3, size=8000) > 0).astype("float32")

with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((32,)),
            layers.Dense(128, activation="relu"),
            layers.Dense(128, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])

model.fit(x[:6400], y[:6400], batch_size=64, epochs=8, validation_data=(x[6400:], y[6400:]))
