"""Handwritten digits, 8x8 pixels: a small convolutional network on real data."""

from pathlib import Path

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)

with np.load(Path(__file__).parent / "data" / "digits.npz") as data:
    images = data["images"].astype("float32")[..., None] / 16.0
    labels = data["labels"].astype("int32")
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images[train], labels[train], batch_size=32, epochs=10, validation_data=(images[test], labels[test]))
