"""Turns TensorFloat-32 off and takes one thread; its own step logs what it was traced under."""

import keras
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.experimental.enable_tensor_float_32_execution(False)


class Watched(keras.Model):
    def train_step(self, data):
        logs = super().train_step(data)
        logs["tf32"] = tf.constant(float(tf.config.experimental.tensor_float_32_execution_enabled()))
        return logs


inputs = keras.Input((4,))
model = Watched(inputs, keras.layers.Dense(1)(inputs))
model.compile("sgd", "mse")
x = np.random.default_rng(0).normal(size=(256, 4)).astype("float32")
model.fit(x, x.sum(axis=1), batch_size=32, epochs=2, verbose=0)
