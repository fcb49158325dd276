"""Callbacks of the script's own: one writes a file, one sets the rate, one stops early."""

import keras
import numpy as np

keras.utils.set_random_seed(5)


class Journal(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        with open("journal.txt", "a") as file:
            file.write(f"{epoch} {logs}\n")


class SaveSometimes(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 10 == 0:
            self.model.save_weights("sometimes.weights.h5")


rng = np.random.default_rng(5)
x = rng.normal(size=(640, 5)).astype("float32")
y = x @ rng.normal(size=(5, 1)).astype("float32")
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), "mse")
model.fit(
    x, y, batch_size=32, epochs=6, validation_split=0.2,
    callbacks=[
        Journal(),
        SaveSometimes(),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.01 * 0.9**epoch),
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=1),
        keras.callbacks.ModelCheckpoint("best.keras"),
    ],
)
