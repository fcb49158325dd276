"""Handwritten digits through a tf.data pipeline that shifts and brightens each image."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(7)

with np.load(Path(__file__).parent / "data" / "digits.npz") as data:
    images, labels = data["images"][..., None], data["labels"].astype("int32")
order = np.random.default_rng(7).permutation(len(images))
images, labels = images[order], labels[order]


def prepare(image, label):
    return tf.cast(image, tf.float32) / 16.0, label


def augment(image, label):
    image = tf.pad(image, [[1, 1], [1, 1], [0, 0]])
    image = tf.image.random_crop(image, (8, 8, 1))
    return tf.image.random_brightness(image, 0.2), label


train = (
    tf.data.Dataset.from_tensor_slices((images[:1437], labels[:1437]))
    .shuffle(1437)
    .map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(32)
    .prefetch(tf.data.AUTOTUNE)
)
test = tf.data.Dataset.from_tensor_slices((images[1437:], labels[1437:])).map(prepare).batch(64)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.BatchNormalization(),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=test, epochs=12)
