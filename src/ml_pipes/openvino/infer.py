"""A model as one step: tensors in, its outputs out.

Knows OpenVINO's session and its options. Knows nothing of images, batches or pipelines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ml_pipes._runtimes.axes import Axes
from ml_pipes._runtimes.source import ModelSource, source_name
from ml_pipes._runtimes.step import ModelStep, check_count
from ml_pipes._runtimes.verify import verify_batch
from ml_pipes.openvino.session import ModelSession
from ml_pipes.operator import Operator, OperatorArgument, OperatorDescription

__all__ = ["Infer"]

_PRECISIONS = ("f32", "f16", "bf16")
# Of a difference between a batch and its items, as a part of an output's largest value.
_TOLERANCE = 1e-4


@Operator
class Infer(ModelStep):
    """Run a model with OpenVINO.

    One object serves any number of threads. The outputs are new arrays that no
    later call writes to. It pickles and copies as its recipe: the model is compiled
    anew, also in a forked child. Another size of batch may round otherwise (1e-6).

    Floats are computed in 32 bits, as other runtimes do. Left alone, OpenVINO takes
    bfloat16 on CPUs that have it (those with AMX among them), without a word: up to
    twice as fast, and outputs differ by one to ten parts in a hundred of their
    largest value, which moves boxes by pixels. Ask for it
    by ``precision="bf16"``, or for the device's own choice by ``precision=None``.
    Whole numbers of 64 bits are computed in 32 on a CPU.

    Args:
        model_path: the model's file (ONNX, or OpenVINO's ``.xml`` beside its ``.bin``), or an ONNX
            model's bytes.
        device: OpenVINO's name of it: ``CPU``, ``GPU``; ``AUTO``, or ``AUTO:GPU,CPU``, leaves the choice to
            OpenVINO, and :attr:`devices_in_use` says what it chose.
        input_name: the input that a single payload feeds; the model's first when left out.
        input_layout: the layout its payloads must have, such as ``NCHW``; for several inputs a tuple,
            in order.
        dtype: that of the input, only to be checked against the model's.
        output_layouts: one per output; ``UNKNOWN`` when left out.
        serialize: let one call in at a time, for models that must not be run by two threads.
        threads: CPU threads of all sessions together; by default what the other models of the process
            have left of the CPUs (see :func:`ml_pipes.openvino.usable_cpus`), one per session at least.
            Other devices than ``CPU`` see to threads and sessions themselves.
        sessions: how many calls are computed at once, each on its part of the threads. One makes a
            single call as quick as it can be; more calls take turns, inside OpenVINO, which knows
            nothing of their deadlines.
        precision: the type to compute floats in: ``f32``, ``f16``, ``bf16``; None leaves it to the device.
        free_axes: declared sides to free, as in :func:`ml_pipes.onnx.free_axes`; it is proved on
            random data that a batch is what its items are one by one. Sides of outputs follow from
            those of the inputs.
        config: further properties of the device, by OpenVINO's names, such as
            ``{"CACHE_DIR": "compiled"}``; not those that are set by ``threads``, ``sessions`` and
            ``precision``.

    Attributes:
        precision: the one in force, as the device says; ``unknown`` where it does not say.

    Raises:
        ModelFileError: the model is missing (also a ``FileNotFoundError``), empty or not a model.
        ModelProviderError: the device is not there or does not start, or it does not take a property.
        ModelInputError: ``input_name``, ``input_layout`` or ``dtype`` is not the model's; when called:
            a value does not fit, or the model fails on it.
        StepInputError: when called: the value is of a kind that no model takes.
        ModelBatchError: an axis was freed and the model does not treat items one by one.
        ModelError: an input or output is text, or of a type that NumPy does not have.
        ValueError: ``precision`` is none of the above, there are fewer threads than sessions, or
            ``config`` sets what an argument sets.
        TypeError: ``model_path`` is neither a path nor bytes, a layout is no text or tuple, or ``config``
            is no mapping with texts for names.
    """

    _session: ModelSession

    def __init__(
        self,
        model_path: ModelSource,
        device: str = "CPU",
        input_name: str | None = None,
        input_layout: str | tuple[str, ...] = "NCHW",
        dtype: str | None = None,
        output_layouts: tuple[str, ...] | None = None,
        serialize: bool = False,
        *,
        threads: int | None = None,
        sessions: int = 1,
        precision: str | None = "f32",
        free_axes: Axes | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        check_count("threads", threads)
        check_count("sessions", sessions)
        if precision is not None and precision not in _PRECISIONS:
            raise ValueError(
                f"Infer: precision must be one of {', '.join(_PRECISIONS)}, or None for the device's own, "
                f"got {precision!r}"
            )
        if config is not None and not (
            isinstance(config, Mapping) and all(isinstance(name, str) for name in config)
        ):
            raise TypeError(
                f"Infer: config must be a mapping of OpenVINO's property names to values, got {config!r}"
            )
        self.device = device
        self.config = None if config is None else dict(config)
        self.threads = threads
        self.sessions = sessions
        self._asked_precision = precision
        super().__init__(model_path, input_name, input_layout, dtype, output_layouts, serialize, free_axes)

    @property
    def precision(self) -> str:
        """The type that floats are computed in, as the device says."""
        return self._session.precision

    @property
    def devices_in_use(self) -> tuple[str, ...]:
        """The devices that OpenVINO computes on, as it says now; empty where it does not say."""
        return self._session.devices_in_use

    def describe(self) -> OperatorDescription:
        """The arguments it was made with, and always the precision in force."""
        description = OperatorDescription.from_operator(self)
        return replace(description, arguments=tuple(map(self._in_force, description.arguments)))

    def __repr__(self) -> str:
        return self.describe().render()

    def _in_force(self, argument: OperatorArgument) -> OperatorArgument:
        if argument.name != "precision":
            return argument
        return replace(argument, value=self.precision, source="passed", passed_by_keyword=True)

    def _opened(self, *, verify: bool) -> ModelSession:
        source = self.model_path
        if verify and self.free_axes is not None:
            proof = ModelSession(source, "CPU", 1, 1, "f32", self.free_axes)
            verify_batch(proof, source_name(source), proof.declared, _TOLERANCE)
        return ModelSession(
            source,
            self.device,
            self.threads,
            self.sessions,
            self._asked_precision,
            self.free_axes,
            self.config,
        )
