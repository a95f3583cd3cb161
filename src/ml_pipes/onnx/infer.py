"""A model as one step: tensors in, its outputs out.

Knows ONNX Runtime's session and its options. Knows nothing of images, batches or pipelines.
"""

from __future__ import annotations

from collections.abc import Sequence

from ml_pipes._runtimes.axes import Axes
from ml_pipes._runtimes.source import ModelSource
from ml_pipes._runtimes.step import ModelStep, check_count
from ml_pipes.onnx.axes import free_axes as freed
from ml_pipes.onnx.providers import Provider
from ml_pipes.onnx.session import ModelSession
from ml_pipes.operator import Operator

__all__ = ["Infer"]


@Operator
class Infer(ModelStep):
    """Run an ONNX model.

    One object serves any number of threads. The outputs are new arrays that no
    later call writes to. It pickles and copies as its recipe: the session is made
    anew, also in a forked child. The same input gives the same bits; another number
    of threads, or company in a batch on several threads, may round otherwise (1e-6).

    Providers are a list of preferences: one that is not there, or does not start, is
    passed over with a :class:`ProviderFallbackWarning`, as long as another one of the
    list can take its place; :attr:`providers_in_use` says which are in force. To
    insist on one, ask for it alone.

    Args:
        model_path: the model's file, or its bytes.
        providers: execution providers, the preferred one first; a name or (name, options).
        input_name: the input that a single payload feeds; the model's first when left out.
        input_layout: the layout its payloads must have, such as ``NCHW``; for several inputs a tuple,
            in order.
        dtype: that of the input, only to be checked against the model's.
        output_layouts: one per output; ``UNKNOWN`` when left out.
        serialize: let one call in at a time, for models that must not be run by two threads.
        threads: CPU threads of all sessions together, their callers' included; by default what the
            other models of the process have left of the CPUs (see :func:`ml_pipes.onnx.usable_cpus`),
            one per session at least.
        sessions: how many calls are computed at once, each on its part of the threads (equal parts,
            rounded down). Left at one, all callers share the one session and none waits for its turn:
            their calls compete for its threads. Of several, each takes one call at a time, and the
            calls that find none free take turns, first come, first served. Each holds the model in
            memory anew.
        free_axes: declared sides to free before the model is opened; see :func:`ml_pipes.onnx.free_axes`.
        arena: keep memory between runs; False gives it back after each, which is slower.

    Raises:
        ModelFileError: the model is missing (also a ``FileNotFoundError``), empty or not a model.
        ModelProviderError: no provider of the list is there and starts, or a name is misspelt.
        ModelInputError: ``input_name``, ``input_layout`` or ``dtype`` is not the model's; when called:
            a value does not fit, or the model fails on it.
        StepInputError: when called: the value is of a kind that no model takes.
        ModelBatchError: an axis was freed and the model does not treat items one by one.
        ValueError: there are fewer threads than sessions.
        DeadlineExceeded: when called: no session became free in time.
        TypeError: ``model_path`` is neither a path nor bytes, or a layout is no text or tuple.
    """

    _session: ModelSession

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
        sessions: int = 1,
        free_axes: Axes | None = None,
        arena: bool = True,
    ) -> None:
        check_count("threads", threads)
        check_count("sessions", sessions)
        self.providers = providers
        self.threads = threads
        self.sessions = sessions
        self.arena = arena
        super().__init__(model_path, input_name, input_layout, dtype, output_layouts, serialize, free_axes)

    @property
    def providers_in_use(self) -> tuple[str, ...]:
        """The execution providers in force, the preferred one first; ONNX Runtime always adds the CPU's."""
        return self._session.providers_in_use

    @property
    def takes_turns(self) -> bool:
        return self.serialize or self.sessions > 1

    def _opened(self, *, verify: bool) -> ModelSession:
        source = self.model_path
        if self.free_axes is not None:
            source = freed(source, self.free_axes, verify=verify)
        return ModelSession(source, self.providers, self.threads, self.arena, self.sessions)
