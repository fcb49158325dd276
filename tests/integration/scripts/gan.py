"""A model with two optimizers, its own compile and train_step."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(6)


class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator = keras.Sequential([keras.Input((4,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2)])
        self.critic = keras.Sequential([keras.Input((2,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
        self.g_loss = keras.metrics.Mean(name="g_loss")
        self.d_loss = keras.metrics.Mean(name="d_loss")

    def compile(self, g_optimizer, d_optimizer, loss_fn):
        super().compile()
        self.g_optimizer, self.d_optimizer, self.loss_fn = g_optimizer, d_optimizer, loss_fn

    @property
    def metrics(self):
        return [self.g_loss, self.d_loss]

    def call(self, z):
        return self.critic(self.generator(z))

    def train_step(self, real):
        count = tf.shape(real)[0]
        z = tf.random.normal((count, 4))
        fake = self.generator(z)
        both = tf.concat([real, tf.cast(fake, real.dtype)], axis=0)
        labels = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.critic(both))
        grads = tape.gradient(d_loss, self.critic.trainable_weights)
        self.d_optimizer.apply(grads, self.critic.trainable_weights)
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(tf.ones((count, 1)), self.critic(self.generator(z)))
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply(grads, self.generator.trainable_weights)
        self.g_loss.update_state(g_loss)
        self.d_loss.update_state(d_loss)
        return {"g_loss": self.g_loss.result(), "d_loss": self.d_loss.result()}


points = np.random.default_rng(6).normal(size=(640, 2)).astype("float32")
data = tf.data.Dataset.from_tensor_slices(points).shuffle(640).batch(32)
model = Pair()
model.compile(keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3), keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(data, epochs=3)
