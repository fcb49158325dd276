"""The data that ``fit`` was given: their kind and size, and the same data in other batches."""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import array_slicing

Kind = Literal["arrays", "tf.data", "PyDataset", "generator", "other"]

_KINDS: dict[str, Kind] = {
    "ArrayDataAdapter": "arrays",
    "TFDatasetAdapter": "tf.data",
    "PyDatasetAdapter": "PyDataset",
    "GeneratorDataAdapter": "generator",
}
_COUNT_LIMIT_S = 3.0
# Samples of a batch where fit is given arrays and no batch size.
_KERAS_BATCH = 32
_FIXED = {
    "PyDataset": "the data come from a PyDataset, which makes its own batches: change the batch in the script to try others",
    "generator": "the data come from a generator, which makes its own batches: change the batch in the script to try others",
    "other": "the data make their own batches: change the batch in the script to try others",
}


class Feed:
    """Training data of a captured ``fit``.

    Args:
        fit: Arguments of ``fit`` by name.

    Attributes:
        kind: What the data are.
        validation: Validation data as ``fit`` would use them; None without.
        batch_size: Samples of a batch as seen; None when it cannot be seen.
        samples: Samples of an epoch; None when unknown.
        steps: Steps of an epoch as written; None when unknown.
        fixed_reason: Why the batch cannot be changed; None when it can.
    """

    def __init__(self, fit: dict[str, Any]) -> None:
        self._fit = fit
        x, y, weight = fit.get("x"), fit.get("y"), fit.get("sample_weight")
        self.validation = fit.get("validation_data")
        split = fit.get("validation_split") or 0.0
        if split and self.validation is None:
            (x, y, weight), self.validation = array_slicing.train_validation_split(
                (x, y, weight), validation_split=split
            )
        self._x: Any = x
        self._y, self._weight = y, weight
        self._written_steps = fit.get("steps_per_epoch")
        adapter = self._adapter(fit.get("batch_size"))
        self.kind: Kind = _KINDS.get(type(adapter).__name__, "other")
        self._dataset: Any = adapter.get_tf_dataset() if self.kind not in ("arrays", "PyDataset") else None
        self.first_batch = self._first(adapter)
        self.batch_size = _leading(self.first_batch)
        self.fixed_reason = _FIXED.get(self.kind)
        if isinstance(self._dataset, tf.distribute.DistributedDataset):
            self.fixed_reason = "the data were distributed by the script itself"
        elif self.batch_size is None:
            self.fixed_reason = "the batch cannot be seen in the data"
        self._drop_remainder = self._dataset is not None and _static_batch(self._dataset) is not None
        self.samples, self.steps = self._size(adapter)

    def content(self) -> str:
        """A short hash of the training data: of whole arrays, else of the first batch."""
        if self.kind == "arrays":
            return digest_arrays((self._x, self._y, self._weight))
        return digest(self.first_batch)

    @property
    def validation_batches(self) -> int | None:
        """Batches of one validation pass; None without validation data, or where nothing tells without going through them."""
        if self.validation is None:
            return None
        steps = self._fit.get("validation_steps")
        if steps:
            return int(steps)
        if isinstance(self.validation, tf.data.Dataset):
            count = int(self.validation.cardinality())
            return count if count > 0 else None
        if isinstance(self.validation, keras.utils.PyDataset):
            count = self.validation.num_batches
            return None if count is None else int(count)
        if not isinstance(self.validation, tuple | list):
            return None
        samples = next((a.shape[0] for a in keras.tree.flatten(self.validation) if hasattr(a, "shape")), None)
        batch = self._fit.get("validation_batch_size") or self._fit.get("batch_size") or _KERAS_BATCH
        return None if samples is None else math.ceil(samples / batch)

    def validation_examples(self, steps: int | None) -> tuple[Iterator[Any], int | None] | None:
        """Validation batches in an order of their own, and how many examples a pass looks at (None when unknown).

        None where looking at them would use them up, or another order would come next time.

        Args:
            steps: Batches of a pass; None for all.
        """
        data = self.validation
        if isinstance(data, tuple | list) and 2 <= len(data) <= 3:
            batch = self._fit.get("validation_batch_size") or self.batch_size or _KERAS_BATCH
            samples = next((int(a.shape[0]) for a in keras.tree.flatten(data) if hasattr(a, "shape")), None)
            adapter = data_adapters.get_data_adapter(*data, batch_size=batch, shuffle=False)
            batches = iter(adapter.get_tf_dataset())
        elif isinstance(data, tf.data.Dataset):
            count, batch = self.validation_batches, _static_batch(data)
            samples = None if count is None or batch is None else count * batch
            batches = iter(data)
        else:
            return None
        if steps is not None:
            batches = itertools.islice(batches, steps)
            samples = None if batch is None else min(samples or steps * batch, steps * batch)
        return batches, samples

    @property
    def again(self) -> bool:
        """Whether the data can be gone through again from the start."""
        return self.kind in ("arrays", "tf.data", "PyDataset")

    def steps_at(self, batch_size: int | None) -> int | None:
        """Steps of an epoch at a batch; None when unknown."""
        if batch_size == self.batch_size or batch_size is None or self.batch_size is None:
            return self.steps
        if self._written_steps:
            return max(1, math.ceil(self._written_steps * self.batch_size / batch_size))
        if self.samples is None:
            return None
        return self.samples // batch_size if self._drop_remainder else math.ceil(self.samples / batch_size)

    def fit_arguments(self, batch_size: int | None) -> dict[str, Any]:
        """Arguments of ``fit`` that hold the training data, as the script wrote them but for the batch."""
        arguments: dict[str, Any] = {"class_weight": self._fit.get("class_weight")}
        if self.kind == "arrays":
            arguments |= {
                "x": self._x,
                "y": self._y,
                "sample_weight": self._weight,
                "shuffle": self._fit.get("shuffle", True),
            }
            arguments["batch_size"] = batch_size
        else:
            arguments["x"] = self._rebatched(batch_size) if self.kind == "tf.data" else self._x
            arguments["shuffle"] = False
            if self.kind == "PyDataset":
                arguments["shuffle"] = self._fit.get("shuffle", True)
        if self._written_steps:
            arguments["steps_per_epoch"] = self.steps_at(batch_size)
        return arguments

    def endless(self, batch_size: int | None) -> tf.data.Dataset:
        """The same pipeline as ``fit`` would build, without an end; class weights are in it."""
        if self.kind == "arrays":
            return self._adapter(batch_size).get_tf_dataset().repeat()
        if self.kind == "tf.data":
            dataset = self._rebatched(batch_size)
            weights = self._fit.get("class_weight")
            if weights is not None:
                adapter = data_adapters.get_data_adapter(x=dataset, class_weight=weights)
                dataset = adapter.get_tf_dataset()
            return dataset if isinstance(dataset, tf.distribute.DistributedDataset) else dataset.repeat()
        if self.kind == "PyDataset":
            # Each gets an adapter of its own: two iterators over one adapter share its queue of batches, and wait for ever.
            return self._adapter(batch_size).get_tf_dataset().repeat()
        return self._dataset.repeat()

    def one_batch(self, batch_size: int | None) -> tf.data.Dataset | None:
        """One batch in memory, again and again: an input pipeline that costs nothing. None where that cannot be made."""
        dataset = self.endless(batch_size)
        if isinstance(dataset, tf.distribute.DistributedDataset):
            return None
        return dataset.take(1).cache().repeat().prefetch(2)

    def mean_batch(self, batch_size: int | None) -> float:
        """Mean samples of a step over an epoch: the last batch may be smaller."""
        steps = self.steps_at(batch_size)
        if batch_size is None:
            return float(self.batch_size or 1)
        if self._written_steps or self._drop_remainder or not steps or self.samples is None:
            return float(batch_size)
        return self.samples / steps

    def seen_batch(self, dataset: Any) -> int | None:
        """Samples in the first batch of a dataset."""
        if self.kind in (
            "generator",
            "PyDataset",
        ):  # drawing a batch to look at would use the data up, or start its threads
            return self.batch_size
        return _leading(next(iter(dataset)))

    def _first(self, adapter: Any) -> Any:
        if self.kind == "PyDataset":
            return keras.tree.map_structure(tf.convert_to_tensor, adapter._standardize_batch(self._x[0]))
        return next(iter(adapter.get_tf_dataset() if self._dataset is None else self._dataset))

    def _adapter(self, batch_size: int | None) -> Any:
        return data_adapters.get_data_adapter(
            x=self._x,
            y=self._y,
            sample_weight=self._weight,
            batch_size=batch_size,
            steps_per_epoch=self._written_steps if batch_size is None else None,
            shuffle=self._fit.get("shuffle", True) if self._dataset_like() is False else False,
            class_weight=self._fit.get("class_weight"),
        )

    def _dataset_like(self) -> bool:
        return isinstance(self._x, tf.data.Dataset | tf.distribute.DistributedDataset)

    def _rebatched(self, batch_size: int | None) -> Any:
        dataset = self._x
        if batch_size is None or batch_size == self.batch_size or self.fixed_reason:
            return dataset
        dataset = dataset.rebatch(batch_size, drop_remainder=self._drop_remainder)
        steps = self.steps_at(batch_size)
        if steps and self.samples is not None and not self._written_steps:
            dataset = dataset.apply(tf.data.experimental.assert_cardinality(steps))
        return dataset.prefetch(tf.data.AUTOTUNE)

    def _size(self, adapter: Any) -> tuple[int | None, int | None]:
        if self.kind == "arrays":
            samples = int(next(a.shape[0] for a in keras.tree.flatten((self._x, self._y)) if a is not None))
            batch = self.batch_size or _KERAS_BATCH
            return samples, int(self._written_steps or math.ceil(samples / batch))
        steps = self._written_steps or adapter.num_batches
        if not steps and self.kind == "tf.data":
            steps = _count(self._dataset)
        if not steps:
            return None, None
        return (None if self.batch_size is None else int(steps) * self.batch_size), int(steps)


# Of larger arrays every so many-th row is hashed.
_HASHED_BYTES = 1 << 28


def digest_arrays(data: Any) -> str:
    """A short hash of arrays: of all that is in them, of evenly spread rows where that is more than 256 MiB."""
    result = hashlib.blake2b(digest_size=8)
    for leaf in keras.tree.flatten(data):
        if leaf is None:
            continue
        values = np.asarray(leaf)
        stride = max(1, -(-values.nbytes // _HASHED_BYTES)) if values.ndim else 1
        result.update(f"{values.dtype} {values.shape}".encode())
        kept = values[::stride] if stride > 1 else values
        result.update(kept.tobytes() if kept.dtype != object else repr(kept.tolist()).encode())
    return result.hexdigest()


def digest(batch: Any, limit_bytes: int = 1 << 16) -> str:
    """A short hash of a batch's content."""
    result = hashlib.sha256()
    for leaf in keras.tree.flatten(batch):
        if hasattr(leaf, "numpy") and not isinstance(leaf, tf.RaggedTensor | tf.SparseTensor):
            result.update(
                np.ascontiguousarray(leaf.numpy()).tobytes()[:limit_bytes] if leaf.dtype != tf.string else b""
            )
    return result.hexdigest()[:16]


def _leading(batch: Any) -> int | None:
    for leaf in keras.tree.flatten(batch):
        if isinstance(leaf, tf.distribute.DistributedValues):
            return None
        shape = getattr(leaf, "shape", None)
        if shape is not None and len(shape) and shape[0] is not None:
            return int(shape[0])
    return None


def _static_batch(dataset: Any) -> int | None:
    spec = keras.tree.flatten(dataset.element_spec)[0]
    shape = getattr(spec, "shape", None)
    return None if shape is None or shape.rank in (None, 0) else shape[0]


def _count(dataset: Any) -> int | None:
    if int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
        return None
    deadline = time.monotonic() + _COUNT_LIMIT_S
    count = 0
    for _ in dataset:
        count += 1
        if time.monotonic() > deadline:
            return None
    return count or None
