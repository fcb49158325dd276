"""Asks a question before it trains."""

import keras  # noqa: F401

epochs = int(input("How many epochs? "))
