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
    ├── MissingNameError (KeyError)             nothing was kept under this name
    ├── PipelineClosed (RuntimeError)           the pipeline was closed before or while it was called
    ├── DeadlineExceeded (TimeoutError)         a call was not done by its deadline
    ├── RegionError (RuntimeError)              a region could not do its work
    │   ├── BatchSizeError                      a batch's body returned another number of results
    │   ├── OversizeError (ValueError)          an item has more rows than a batch may have
    │   └── QueueFull                           a region's waiting room has no place left
    ├── DecodeError (ValueError)                bytes are not an image
    └── ModelError                              a model cannot be used
        ├── ModelFileError (OSError)            its file is empty or is not a model
        │   └── ModelNotFoundError (FileNotFoundError)    there is no such file
        ├── ModelProviderError (ValueError)     an execution provider is not there
        ├── ModelBatchError (ValueError)        it does not treat the items of a batch one by one
        └── ModelInputError (ValueError)        it takes another input

Knows nothing of what raises them.
"""

from __future__ import annotations

__all__ = [
    "BatchSizeError",
    "DeadlineExceeded",
    "DecodeError",
    "MissingNameError",
    "ModelBatchError",
    "ModelError",
    "ModelFileError",
    "ModelInputError",
    "ModelNotFoundError",
    "ModelProviderError",
    "OversizeError",
    "PipelineClosed",
    "PipelineError",
    "PipelineValidationError",
    "QueueFull",
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


class _SelectorError(PipelineError):
    """Keeps, beside its words, which path it was."""

    def __init__(self, message: str, *, selector: object = None, path: str | None = None) -> None:
        super().__init__(message)
        self.selector = selector
        self.path = path


class SelectorRuntimeError(_SelectorError, TypeError):
    """A path names a key or an attribute that the value does not have, or that cannot be written."""


class SelectorIndexError(_SelectorError, IndexError):
    """A path's index is outside the sequence it points into."""


class MissingNameError(PipelineError, KeyError):
    """Nothing was stored or registered under a name."""

    # KeyError's own text is the repr of its argument: quotes around a sentence.
    __str__ = PipelineError.__str__


class PipelineClosed(PipelineError, RuntimeError):
    """The pipeline was closed before it was called, or while the caller waited in it."""


class DeadlineExceeded(PipelineError, TimeoutError):
    """A call was not done by its deadline."""


class RegionError(PipelineError, RuntimeError):
    """A region could not do its work."""


class BatchSizeError(RegionError):
    """A batch's body returned another number of results than it took items."""


class OversizeError(RegionError, ValueError):
    """An item has more rows than a batch may have, and cannot be split."""


class QueueFull(RegionError):
    """More rows would wait in a region than there is room for."""


class DecodeError(PipelineError, ValueError):
    """The bytes are not an image that can be read."""


class ModelError(PipelineError):
    """A model cannot be used."""


class ModelFileError(ModelError, OSError):
    """A model's file is empty or not a model."""


class ModelNotFoundError(ModelFileError, FileNotFoundError):
    """There is no file where a model was said to be."""


class ModelProviderError(ModelError, ValueError):
    """An execution provider was asked for that is not there or does not start."""


class ModelBatchError(ModelError, ValueError):
    """A model does not treat the items of a batch one by one."""


class ModelInputError(ModelError, ValueError):
    """A tensor does not fit the model's input."""
