"""The script uses mixed precision itself."""

import keras
import numpy as np

keras.mixed_precision.set_global_policy("mixed_bfloat16")
keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
x = rng.normal(size=(640, 5)).astype("float32")
y = (x[:, 0] > 0).astype("float32")
model = keras.Sequential(
    [keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid", dtype="float32")]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=3, batch_size=64, class_weight={0: 1.0, 1: 2.0})
