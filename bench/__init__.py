"""Measurements of ml-pipes against what is possible: ``python -m bench``."""
