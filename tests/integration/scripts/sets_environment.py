"""Sets a variable that TensorFlow reads while it is imported."""

import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import keras
import numpy as np

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
x = rng.normal(size=(640, 5)).astype("float32")
y = (x[:, 0] > 0).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=3, batch_size=64)
