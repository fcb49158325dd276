import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)


@keras.saving.register_keras_serializable()
class Twice(keras.layers.Layer):
    """Calls one layer two times."""

    def __init__(self):
        super().__init__(name="twice")
        self.inner = layers.Dense(20, name="inner")

    def call(self, inputs):
        return self.inner(self.inner(inputs))


images = layers.Input((8, 8, 3), name="images")
x = layers.Conv2D(16, 3, padding="same", name="conv")(images)
x = layers.DepthwiseConv2D(3, padding="same", name="depthwise")(x)
x = layers.GlobalAveragePooling2D()(x)
words = layers.Input((12, 7), name="words")
y = layers.LSTM(16, return_sequences=True, name="lstm")(words)
y = layers.MultiHeadAttention(2, 8, name="attention")(y, y)
y = layers.GRU(8, name="gru")(y)
z = layers.Concatenate()([x, y])
z = keras.Sequential([layers.Dense(20, name="dense"), layers.Dense(20, name="dense_1")], name="block")(z)
z = Twice()(z)
outputs = layers.Dense(1, name="out")(z)
model = keras.Model([images, words], outputs)
model.compile("adam", "mse", metrics=["mae"])
rng = np.random.default_rng(0)
pictures = rng.normal(size=(64, 8, 8, 3)).astype("float32")
sentences = rng.normal(size=(64, 12, 7)).astype("float32")
model.fit([pictures, sentences], pictures.mean((1, 2, 3)), batch_size=4, epochs=2, verbose=0)
