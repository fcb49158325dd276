"""A short warm-up, then the long training; scikit-learn-like fits must not count."""

import keras
import numpy as np


class Scaler:
    def fit(self, x):
        self.mean = x.mean(axis=0)
        return self


keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
x = rng.normal(size=(800, 5)).astype("float32")
y = (x.sum(axis=1) > 0).astype("float32")
x -= Scaler().fit(x).mean

body = keras.Sequential([keras.Input((5,)), keras.layers.Dense(16, activation="relu", name="body")], name="encoder")
model = keras.Sequential([body, keras.layers.Dense(1, activation="sigmoid", name="head")], name="classifier")
body.trainable = False
model.compile(keras.optimizers.Adam(1e-2), "binary_crossentropy", metrics=["accuracy"])
warm = model.fit(x, y, batch_size=40, epochs=1, validation_split=0.2)
print("after warm-up", warm.history["val_accuracy"][-1])

body.trainable = True
model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=40, epochs=12, validation_split=0.2)
model.save("trained.keras")
