"""A model as one step, whichever runtime runs it: tensors in, its outputs out.

Knows payloads and one session. Knows nothing of images, batches, pipelines or of any runtime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ml_pipes._runtimes.axes import Axes
from ml_pipes._runtimes.feeds import ModelInput, dtype_text, feeds_of, named_of, run_error
from ml_pipes._runtimes.fits import Slot
from ml_pipes._runtimes.ports import Port, Session
from ml_pipes._runtimes.source import ModelSource, as_source, source_name
from ml_pipes._runtimes.warm import batch_of, check_sizes
from ml_pipes._threads.turns import let_in
from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.errors import DeadlineExceeded, ModelError, ModelInputError
from ml_pipes.tensor import TensorPayload
from ml_pipes.tensor.runtime import RuntimeOutputs

__all__ = ["ModelStep", "check_count"]

Feeds = dict[str, np.ndarray[Any, Any]]
ResultT = TypeVar("ResultT")

_TURN = "the model was busy with another call (serialize=True)"


class ModelStep(ABC):
    """What each runtime's ``Infer`` is: arguments that are checked, a session, and one call.

    A runtime's own class opens the session. It pickles and copies as its recipe.
    """

    # Tells instruments that this step's time is the model's.
    is_inference: ClassVar[bool] = True

    def __init__(
        self,
        model_path: ModelSource,
        input_name: str | None,
        input_layout: str | tuple[str, ...],
        dtype: str | None,
        output_layouts: tuple[str, ...] | None,
        serialize: bool,
        free_axes: Axes | None,
    ) -> None:
        """Open the model; what :meth:`_opened` asks for must be set before."""
        _check_layouts(input_layout, output_layouts)
        self.model_path = as_source(model_path, "Infer")
        self.input_name = input_name
        self.input_layout = input_layout
        self.dtype = dtype
        self.output_layouts = output_layouts
        self.serialize = serialize
        self.free_axes = free_axes
        self._gate = Turnstile() if serialize else None
        self._renewing = Turnstile()
        self._session = self._opened(verify=True)
        self._decide()

    @abstractmethod
    def _opened(self, *, verify: bool) -> Session:
        """A new session; ``verify`` asks for the proof that freed axes are right."""

    def __call__(self, tensor_payload: ModelInput) -> RuntimeOutputs:
        session = self._session if self._session.usable else self._renewed()
        feeds = feeds_of(tensor_payload, self._slots, self._first)
        arrays = self._run(session.run, feeds)
        self._check_rows(feeds[self._first], arrays)
        dtypes = [dtype_text(array.dtype) for array in arrays]
        payloads = map(TensorPayload, arrays, self._output_layouts, dtypes)
        return RuntimeOutputs(tuple(payloads), self._output_names)

    @property
    def takes_turns(self) -> bool:
        """Calls wait for each other in it; it tells when a turn has come, and traces show the wait apart."""
        return self.serialize

    @property
    def metadata(self) -> dict[str, str]:
        """What the model's file says of itself: class names, characters, its maker; name -> text, a copy."""
        return dict(self._session.metadata)

    def warm_up(self, example: ModelInput, sizes: Sequence[int] = (1,)) -> None:
        """Run the model once per batch size on each of its sessions, so that no call is its first.

        Calls do not wait for it, but compete with it for the threads: warm up before
        they come. Copies, pickles and forked children open the model anew, so each
        needs a warm-up of its own.

        Args:
            example: what calls bring, for as many inputs as the model has; the first item of each
                input that has a batch is repeated to each size, other inputs stay as they are.
            sizes: the batch sizes that will come, each 1 or more.

        Raises:
            ValueError: a size is no whole number from 1 up, or ``example`` has no item.
            ModelInputError: an input is missing, or the model does not take a batch of a size.
            ModelError: the model fails, or gives another number of rows.
            TypeError: ``example`` is of a kind that no model takes.
            DeadlineExceeded: its turn did not come in time (``serialize=True``).
        """
        if isinstance(example, np.ndarray):
            raise TypeError("Infer: warm_up wants a TensorPayload, as calls bring it, got ndarray")
        given = named_of(example, self._slots, self._first)
        check_sizes(sizes, given[self._first])
        for size in sizes:
            feeds = batch_of(size, given, self._slots, self._first)
            session = self._session if self._session.usable else self._renewed()
            for arrays in self._run(session.run_on_each, feeds):
                self._check_rows(feeds[self._first], arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._session = self._opened(verify=False)

    def _run(self, run: Callable[[Feeds], ResultT], feeds: Feeds) -> ResultT:
        """What ``run`` gives, with its turn waited for and its error in our words."""
        try:
            if self._gate is None:
                return run(feeds)
            with self._gate.passage(_TURN):
                let_in()
                return run(feeds)
        except DeadlineExceeded:
            raise
        except Exception as error:
            raise run_error(source_name(self.model_path), feeds, error) from error

    def _renewed(self) -> Session:
        """The session of a forked child, made by one thread while the others wait."""
        with self._renewing.lock:
            if not self._session.usable:
                self._session = self._opened(verify=False)
            return self._session

    def _decide(self) -> None:
        """Settle once what each call needs: names, layouts, and which outputs have a row per item."""
        inputs, outputs = self._session.inputs, self._session.outputs
        if not inputs:
            raise ModelError(f"Infer: {source_name(self.model_path)} takes no input")
        names = [port.name for port in inputs]
        self._first = self.input_name if self.input_name is not None else names[0]
        if self._first not in names:
            raise ModelInputError(
                f"Infer: the model has no input {self._first!r}; it takes {', '.join(names)}"
            )
        first = inputs[names.index(self._first)]
        if self.dtype is not None and self.dtype != first.dtype:
            raise ModelInputError(
                f"Infer: dtype={self.dtype!r} was asked for, but the model dtype is {first.dtype}"
            )
        layouts = self._layouts_of(names)
        self._slots = tuple(Slot(port, layouts.get(port.name), self.free_axes) for port in inputs)
        layout = layouts[self._first]
        if first.shape is not None and len(layout) != len(first.shape):
            raise ModelInputError(
                f"Infer: input_layout {layout!r} has {len(layout)} axes, but input {self._first!r} takes "
                f"{len(first.shape)}: {first.shape}; set input_layout, a letter per axis"
            )
        self._decide_outputs(outputs, first)

    def _decide_outputs(self, outputs: Sequence[Port], first: Port) -> None:
        self._output_names = tuple(port.name for port in outputs)
        self._output_layouts = self.output_layouts or ("UNKNOWN",) * len(outputs)
        if len(self._output_layouts) != len(outputs):
            raise ValueError(
                f"Infer: output_layouts has {len(self._output_layouts)} entries for the model's "
                f"{len(outputs)} outputs: {', '.join(self._output_names)}"
            )
        rows = first.shape[0] if first.shape else None
        shared = isinstance(rows, str) and rows not in ("", "?")
        self._row_outputs = tuple(
            at for at, port in enumerate(outputs) if shared and port.shape and port.shape[0] == rows
        )

    def _layouts_of(self, names: list[str]) -> dict[str, str]:
        if isinstance(self.input_layout, str):
            return {self._first: self.input_layout}
        if len(self.input_layout) != len(names):
            raise ValueError(
                f"Infer: input_layout has {len(self.input_layout)} entries for the model's {len(names)} "
                f"inputs: {', '.join(names)}"
            )
        return dict(zip(names, self.input_layout, strict=True))

    def _check_rows(self, given: np.ndarray[Any, Any], arrays: list[np.ndarray[Any, Any]]) -> None:
        """Refuse an output with other rows than the input, where the model says that they are one axis."""
        for at in self._row_outputs:
            if arrays[at].shape[:1] != given.shape[:1]:
                raise ModelError(
                    f"Infer: output {self._output_names[at]!r}: expected {given.shape[0]} rows, got "
                    f"{arrays[at].shape[0]} (shape {arrays[at].shape}); the model does not take a batch, "
                    "give it one item at a time"
                )


def check_count(name: str, value: Any) -> None:
    """Raise ValueError for what is neither None nor a whole number from 1 up."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if value is not None and (not whole or value < 1):
        raise ValueError(f"Infer: {name} must be a whole number, 1 or more, got {value!r}")


def _check_layouts(input_layout: object, output_layouts: object) -> None:
    if not isinstance(input_layout, (str, tuple, list)):
        raise TypeError(
            f"Infer: input_layout must be a text, a letter per axis, or a tuple of them, got {input_layout!r}"
        )
    if output_layouts is not None and not isinstance(output_layouts, (tuple, list)):
        raise TypeError(
            f"Infer: output_layouts must be a tuple of texts, one per output, got {output_layouts!r}"
        )
