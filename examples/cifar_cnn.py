"""CIFAR-shaped colour images, made in the script: two convolutions, two dense layers."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

# ten smooth patterns, each image one of them: shifted, mirrored, brighter or darker, with noise
samples, classes = 9600, 10
patterns = np.kron(rng.normal(size=(classes, 8, 8, 3)), np.ones((1, 4, 4, 1)))
labels = rng.integers(0, classes, samples)
images = patterns[labels]
for i in range(samples):
    images[i] = np.roll(images[i], rng.integers(-4, 5, 2), axis=(0, 1))
    if rng.random() < 0.5:
        images[i] = images[i][:, ::-1]
images = images * rng.uniform(0.6, 1.4, (samples, 1, 1, 1)) + rng.normal(scale=2.0, size=images.shape)
images = images.astype("float32")

model = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(classes, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(images, labels, batch_size=64, epochs=6, validation_split=0.1)
