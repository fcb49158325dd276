"""A wide multilayer perceptron, 784-4096-4096-10, with a large batch and a float32 softmax."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

prototypes = rng.normal(size=(10, 784)) * (rng.random((10, 784)) < 0.1)
labels = rng.integers(0, 10, 10240)
pixels = (prototypes[labels] + rng.normal(scale=1.6, size=(10240, 784))).astype("float32")
train, test = slice(0, 8192), slice(8192, None)

model = keras.Sequential(
    [
        keras.Input((784,)),
        layers.Dense(4096, activation="relu"),
        layers.Dense(4096, activation="relu"),
        layers.Dense(10),
        layers.Activation("softmax", dtype="float32"),
    ]
)
model.compile(keras.optimizers.Adam(2e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(pixels[train], labels[train], batch_size=512, epochs=3, validation_data=(pixels[test], labels[test]))
