"""Two named inputs, two outputs, sample weights, validation_split."""

import keras
import numpy as np

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
a = rng.normal(size=(640, 4)).astype("float32")
b = rng.normal(size=(640, 3)).astype("float32")
y1 = (a.sum(axis=1, keepdims=True) > 0).astype("float32")
y2 = b @ rng.normal(size=(3, 2)).astype("float32")

left, right = keras.Input((4,), name="left"), keras.Input((3,), name="right")
joined = keras.layers.Dense(16, activation="relu", name="body")(keras.layers.Concatenate()([left, right]))
first = keras.layers.Dense(1, activation="sigmoid", name="first")(joined)
second = keras.layers.Dense(2, name="second")(joined)
model = keras.Model({"left": left, "right": right}, {"first": first, "second": second})
model.compile(
    "adam",
    loss={"first": "binary_crossentropy", "second": "mse"},
    metrics={"first": ["accuracy"], "second": ["mae"]},
)
weights = {"first": np.ones(640, "float32"), "second": rng.uniform(0.5, 1.5, 640).astype("float32")}
model.fit(
    {"left": a, "right": b}, {"first": y1, "second": y2}, sample_weight=weights, batch_size=64, epochs=3, validation_split=0.25
)
