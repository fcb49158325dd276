"""Wants an argument that it does not get."""

import sys

import keras  # noqa: F401

if len(sys.argv) < 2:
    print("usage: calls_exit.py DATA")
    sys.exit(2)
