"""A PyDataset with worker threads that shuffles itself at the end of an epoch."""

import keras
import numpy as np

keras.utils.set_random_seed(2)


class Rows(keras.utils.PyDataset):
    def __init__(self, **kwargs):
        super().__init__(workers=2, max_queue_size=4, **kwargs)
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(500, 6)).astype("float32")
        self.y = (self.x[:, :1] > 0).astype("float32")
        self.order = np.arange(500)

    def __len__(self):
        return 20

    def __getitem__(self, index):
        rows = self.order[index * 25 : (index + 1) * 25]
        return self.x[rows], self.y[rows]

    def on_epoch_end(self):
        np.random.default_rng(3).shuffle(self.order)


model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(Rows(), epochs=4)
