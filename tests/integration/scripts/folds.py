"""The same fit in a loop over folds."""

import keras
import numpy as np

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
x = rng.normal(size=(600, 5)).astype("float32")
y = (x[:, 0] > 0).astype("int32")
scores = []
for fold in range(3):
    keep = np.arange(600) % 3 != fold
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x[keep], y[keep], epochs=3, batch_size=32, validation_data=(x[~keep], y[~keep]), verbose=0)
    scores.append(history.history["val_accuracy"][-1])
print(scores)
