"""String inputs through TextVectorization inside the pipeline, unknown cardinality."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
words = np.array(["red", "green", "blue", "cold", "warm", "soft"])
texts = [" ".join(rng.choice(words, 6)) for _ in range(600)]
labels = np.array([text.count("red") > 1 for text in texts], "int32")
vectorize = keras.layers.TextVectorization(max_tokens=20, output_sequence_length=6)
vectorize.adapt(texts)


def pairs():
    yield from zip(texts, labels)


data = tf.data.Dataset.from_generator(
    pairs, output_signature=(tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int32))
).batch(20).map(lambda text, label: (vectorize(text), label))
model = keras.Sequential([keras.layers.Embedding(20, 8), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(data, epochs=3)
