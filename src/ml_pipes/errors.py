"""Every error ml-pipes raises by itself, in one tree.

Each class is also the builtin that people would catch. An operator's own
exception is not here: it keeps its type and gains a note that names the step.

::

    PipelineError
    ├── PipelineValidationError (ValueError)    the list is no pipeline
    │   ├── StructureError                      a region is not opened or closed rightly
    │   └── SignatureError (TypeError)          a step cannot be called with one value
    ├── StepInputError (TypeError)              a value does not fit the step it came to
    ├── SelectorRuntimeError (TypeError)        a path names what the value does not have
    ├── SelectorIndexError (IndexError)         a path's index is out of range
    ├── RegionError (RuntimeError)              a region could not do its work
    │   └── BatchSizeError                      a batch's body returned another number of results
    ├── DecodeError (ValueError)                bytes are not an image
    └── ModelError                              a model cannot be used
        ├── ModelFileError (OSError)            its file is missing or is not a model
        └── ModelInputError (ValueError)        it takes another input

Knows nothing of what raises them.
"""

from __future__ import annotations

__all__ = [
    "BatchSizeError",
    "DecodeError",
    "ModelError",
    "ModelFileError",
    "ModelInputError",
    "PipelineError",
    "PipelineValidationError",
    "RegionError",
    "SelectorIndexError",
    "SelectorRuntimeError",
    "SignatureError",
    "StepInputError",
    "StructureError",
]


class PipelineError(Exception):
    """Base of every error that ml-pipes raises by itself."""


class PipelineValidationError(PipelineError, ValueError):
    """The list of operators cannot be a pipeline."""


class StructureError(PipelineValidationError):
    """A region has no closer, no opener, or the closer of another region."""


class SignatureError(PipelineValidationError, TypeError):
    """A step is not callable with positional arguments only."""


class StepInputError(PipelineError, TypeError):
    """The value that reached a step is not what the step takes."""


class SelectorRuntimeError(PipelineError, TypeError):
    """A path names a key or an attribute that the value does not have."""


class SelectorIndexError(PipelineError, IndexError):
    """A path's index is outside the sequence it points into."""


class RegionError(PipelineError, RuntimeError):
    """A region could not do its work."""


class BatchSizeError(RegionError):
    """A batch's body returned another number of results than it took items."""


class DecodeError(PipelineError, ValueError):
    """The bytes are not an image that can be read."""


class ModelError(PipelineError):
    """A model cannot be used."""


class ModelFileError(ModelError, OSError):
    """A model's file is missing, empty or not a model."""


class ModelInputError(ModelError, ValueError):
    """A tensor does not fit the model's input."""
