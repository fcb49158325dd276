"""Transformer encoder: does one symbol stand more often than another in a sequence of 24?"""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
count, length, symbols, width = 3072, 24, 12, 48
x = rng.integers(1, symbols, size=(count, length))
y = (np.sum(x == 3, axis=1) > np.sum(x == 7, axis=1)).astype("int32")


class Embed(layers.Layer):
    """Tokens and places."""

    def __init__(self):
        super().__init__()
        self.token = layers.Embedding(symbols, width)
        self.place = layers.Embedding(length, width)

    def build(self, shape):
        """Builds both tables."""
        self.token.build(shape)
        self.place.build(shape)

    def call(self, ids):
        """Adds them."""
        return self.token(ids) + self.place(ops.arange(length))


inputs = keras.Input((length,), dtype="int32")
hidden = Embed()(inputs)
for _ in range(2):
    normal = layers.LayerNormalization()(hidden)
    hidden = hidden + layers.MultiHeadAttention(4, width // 4)(normal, normal)
    normal = layers.LayerNormalization()(hidden)
    hidden = hidden + layers.Dense(width)(layers.Dense(2 * width, activation="gelu")(normal))
outputs = layers.Dense(2, activation="softmax", dtype="float32")(layers.GlobalAveragePooling1D()(hidden))
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:2560], y[:2560], batch_size=32, epochs=5, validation_data=(x[2560:], y[2560:]))
