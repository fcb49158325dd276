"""A small Transformer that tells which of four kinds of events a sequence holds."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

vocabulary, length, kinds = 200, 32, 4


def sequences(count):
    kind = rng.integers(0, kinds, count)
    tokens = rng.integers(4, vocabulary, (count, length))
    place = rng.integers(0, length - 1, count)
    rows = np.arange(count)
    tokens[rows, place] = kind  # a marker, and its partner at the next place
    lost = rng.random(count) < 0.15
    tokens[lost, place[lost]] = 199  # some markers are lost, and the partner alone must tell
    tokens[rows, place + 1] = 4 + 10 * kind + rng.integers(0, 10, count)
    return tokens.astype("int32"), kind


x_train, y_train = sequences(6000)
x_test, y_test = sequences(2000)

tokens = keras.Input((length,), dtype="int32")
places = keras.ops.arange(length)
x = layers.Embedding(vocabulary, 32)(tokens) + layers.Embedding(length, 32)(places)
for _ in range(2):
    attended = layers.MultiHeadAttention(num_heads=4, key_dim=8, dropout=0.1)(x, x)
    x = layers.LayerNormalization()(x + attended)
    hidden = layers.Dense(64, activation="gelu")(x)
    x = layers.LayerNormalization()(x + layers.Dense(32)(hidden))
x = layers.GlobalMaxPooling1D()(x)
outputs = layers.Dense(kinds, activation="softmax")(x)

model = keras.Model(tokens, outputs)
model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=5, validation_data=(x_test, y_test))
