"""Contracts that plug-ins must keep, for their authors to run."""
