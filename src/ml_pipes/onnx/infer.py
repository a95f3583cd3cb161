"""A model as one step: tensors in, its outputs out.

Knows payloads and one session. Knows nothing of images, batches or pipelines.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.errors import DeadlineExceeded, ModelError, ModelInputError
from ml_pipes.onnx.axes import Axes
from ml_pipes.onnx.axes import free_axes as freed
from ml_pipes.onnx.feeds import ModelInput, dtype_text, feeds_of, run_error
from ml_pipes.onnx.fits import Slot
from ml_pipes.onnx.session import ModelSession, Port, Provider
from ml_pipes.onnx.source import ModelSource, as_source, source_name
from ml_pipes.operator import Operator
from ml_pipes.tensor import TensorPayload
from ml_pipes.tensor.runtime import RuntimeOutputs

__all__ = ["Infer"]

_OPEN = nullcontext()
_TURN = "the model was busy with another call (serialize=True)"


@Operator
class Infer:
    """Run an ONNX model.

    One object serves any number of threads. The outputs are new arrays that no
    later call writes to. It pickles and copies as its recipe: the session is made
    anew, also in a forked child. The same input gives the same bits; another number
    of threads, or company in a batch on several threads, may round otherwise (1e-6).

    Args:
        model_path: the model's file, or its bytes.
        providers: execution providers, the preferred one first; a name or (name, options).
        input_name: the input that a single payload feeds; the model's first when left out.
        input_layout: the layout its payloads must have, such as ``NCHW``; for several inputs a tuple,
            in order.
        dtype: that of the input, only to be checked against the model's.
        output_layouts: one per output; ``UNKNOWN`` when left out.
        serialize: let one call in at a time, for models that must not be run by two threads.
        threads: CPU threads of one call, the caller's included; by default what the
            other models of the process have left of the CPUs (see :mod:`ml_pipes.onnx.cpu`).
        free_axes: declared sides to free before the model is opened; see :func:`ml_pipes.onnx.free_axes`.
        arena: keep memory between runs; False gives it back after each, which is slower.

    Raises:
        ModelFileError: the model is missing (also a ``FileNotFoundError``), empty or not a model.
        ModelProviderError: a provider is not there.
        ModelInputError: ``input_name``, ``input_layout`` or ``dtype`` is not the model's; when called:
            a value does not fit, or the model fails on it.
        StepInputError: when called: the value is of a kind that no model takes.
        ModelBatchError: an axis was freed and the model does not treat items one by one.
        TypeError: ``model_path`` is neither a path nor bytes, or a layout is no text or tuple.
    """

    def __init__(
        self,
        model_path: ModelSource,
        providers: Sequence[Provider] = ("CPUExecutionProvider",),
        input_name: str | None = None,
        input_layout: str | tuple[str, ...] = "NCHW",
        dtype: str | None = None,
        output_layouts: tuple[str, ...] | None = None,
        serialize: bool = False,
        *,
        threads: int | None = None,
        free_axes: Axes | None = None,
        arena: bool = True,
    ) -> None:
        _check_arguments(threads, input_layout, output_layouts)
        self.model_path = as_source(model_path, "Infer")
        self.providers = providers
        self.input_name = input_name
        self.input_layout = input_layout
        self.dtype = dtype
        self.output_layouts = output_layouts
        self.serialize = serialize
        self.threads = threads
        self.free_axes = free_axes
        self.arena = arena
        self._gate = Turnstile() if serialize else None
        self._renewing = Turnstile()
        self._session = self._opened(verify=True)
        self._decide()

    def __call__(self, tensor_payload: ModelInput) -> RuntimeOutputs:
        session = self._session if self._session.usable else self._renewed()
        feeds = feeds_of(tensor_payload, self._slots, self._first)
        try:
            with self._gate.passage(_TURN) if self._gate is not None else _OPEN:
                arrays = session.run(feeds)
        except DeadlineExceeded:
            raise
        except Exception as error:
            raise run_error(source_name(self.model_path), feeds, error) from error
        self._check_rows(feeds[self._first], arrays)
        dtypes = [dtype_text(array.dtype) for array in arrays]
        payloads = map(TensorPayload, arrays, self._output_layouts, dtypes)
        return RuntimeOutputs(tuple(payloads), self._output_names)

    def warm_up(self, example: TensorPayload, sizes: Sequence[int] = (1,)) -> None:
        """Run the model once per batch size, so that the first calls are as quick as the later ones.

        Args:
            example: a tensor as calls bring it; its first item is repeated to each size.
            sizes: the batch sizes that will come, each 1 or more.

        Raises:
            ValueError: a size is less than 1, or ``example`` has no item.
            TypeError: ``example`` is no payload.
        """
        if not isinstance(example, TensorPayload):
            raise TypeError(
                f"Infer: warm_up wants a TensorPayload, as calls bring it, got {type(example).__name__}"
            )
        if min(sizes, default=1) < 1 or not example.array.shape or not len(example.array):
            raise ValueError(
                f"Infer: warm_up wants sizes of 1 or more and an example with an item, got {tuple(sizes)} "
                f"and {example.array.shape}"
            )
        for size in sizes:
            rows = np.repeat(example.array[:1], size, axis=0)
            self(TensorPayload(rows, example.layout, example.dtype))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._session = self._opened(verify=False)

    def _opened(self, *, verify: bool) -> ModelSession:
        source = self.model_path
        if self.free_axes is not None:
            source = freed(source, self.free_axes, verify=verify)
        return ModelSession(source, self.providers, self.threads, self.arena)

    def _renewed(self) -> ModelSession:
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


def _check_arguments(threads: Any, input_layout: object, output_layouts: object) -> None:
    whole = isinstance(threads, (int, np.integer)) and not isinstance(threads, bool)
    if threads is not None and (not whole or threads < 1):
        raise ValueError(f"Infer: threads must be a whole number, 1 or more, got {threads!r}")
    if not isinstance(input_layout, (str, tuple, list)):
        raise TypeError(
            f"Infer: input_layout must be a text, a letter per axis, or a tuple of them, got {input_layout!r}"
        )
    if output_layouts is not None and not isinstance(output_layouts, (tuple, list)):
        raise TypeError(
            f"Infer: output_layouts must be a tuple of texts, one per output, got {output_layouts!r}"
        )
