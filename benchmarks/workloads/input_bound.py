"""Input-bound: a small model behind a pipeline that works one example at a time."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
count, side = 2048, 32
kind = rng.integers(0, 2, count).astype("int32")
images = (rng.normal(size=(count, side, side, 1)) + kind[:, None, None, None] * 0.12).astype("float32")


def spectrum(image, label):
    """Strength of each frequency, the slow part."""
    waves = tf.signal.fft2d(tf.cast(image[..., 0], tf.complex64))
    for _ in range(3):
        waves = tf.signal.fft2d(tf.signal.ifft2d(waves))
    return tf.math.log1p(tf.abs(waves))[..., None], label


def pipeline(part):
    """Examples of a part, changed one by one."""
    return tf.data.Dataset.from_tensor_slices((images[part], kind[part])).map(spectrum)


train = pipeline(slice(0, 1536)).shuffle(512).batch(32)
model = keras.Sequential(
    [
        keras.Input((side, side, 1)),
        layers.Conv2D(4, 3, strides=2, activation="relu"),
        layers.Flatten(),
        layers.Dense(2, activation="softmax", dtype="float32"),
    ]
)
model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=5, validation_data=pipeline(slice(1536, None)).batch(64))
