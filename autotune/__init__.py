"""Hardware-aware auto-tuner for Keras training."""

__version__ = "0.1.0"
__all__ = ["__version__"]
