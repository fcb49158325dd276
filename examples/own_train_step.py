"""A model class with a training step of its own and an explicit loss scale."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


class Classifier(keras.Model):
    """Two dense layers; the step scales its loss, as float16 needs it."""

    def __init__(self, classes):
        super().__init__()
        self.hidden = layers.Dense(256, activation="relu")
        self.middle = layers.Dense(256, activation="relu")
        self.head = layers.Dense(classes)

    def call(self, x):
        return self.head(self.middle(self.hidden(x)))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logits = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=logits)
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, logits)
        return {metric.name: metric.result() for metric in self.metrics}


keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
centres = rng.normal(scale=0.45, size=(8, 64))
labels = rng.integers(0, 8, 12000)
features = (centres[labels] + rng.normal(size=(12000, 64))).astype("float32")

model = Classifier(8)
model.compile(
    optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.05, momentum=0.9)),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(features[:9000], labels[:9000], batch_size=64, epochs=6, validation_data=(features[9000:], labels[9000:]))
