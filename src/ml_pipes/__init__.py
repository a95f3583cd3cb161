"""ml-pipes: machine-learning inference as a plain list of small steps."""

__version__ = "0.1.0"
