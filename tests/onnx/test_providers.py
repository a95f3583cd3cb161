"""Execution providers are preferences: what is not there is passed over with a warning, or refused."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from ml_pipes.errors import ModelFileError
from ml_pipes.onnx import Infer, ModelProviderError, ProviderFallbackWarning
from ml_pipes.tensor import TensorPayload

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"


def image() -> TensorPayload:
    return TensorPayload(np.full((1, 3, 4, 4), 3.0, np.float32), "NCHW", "float32")


@pytest.fixture
def no_cuda(monkeypatch) -> None:
    """An ONNX Runtime that was built without CUDA."""
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU])


@pytest.fixture
def cuda(monkeypatch) -> list[str]:
    """An ONNX Runtime built with CUDA, and what becomes of it in each session, in order.

    "starts", "fails", or "is left out": in silence, as where a library is missing.
    """
    fates: list[str] = []
    real = onnxruntime.InferenceSession

    class Session(real):  # type: ignore[misc, valid-type] # a class that is looked up
        def __init__(self, model: Any, options: Any, providers: list[Any], **more: Any) -> None:
            self.fate = fates.pop(0) if CUDA in providers else "is left out"
            if self.fate == "fails":
                raise RuntimeError("CUDA error 35: old driver")
            super().__init__(model, options, providers=[CPU], **more)

        def get_providers(self) -> list[str]:
            return [CUDA, CPU] if self.fate == "starts" else [CPU]

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    return fates


def test_an_unknown_provider_lists_those_there_are(relu: Path) -> None:
    with pytest.raises(
        ModelProviderError, match=r"'CPUProvider'.*available: .*CPUExecutionProvider.*spelling"
    ):
        Infer(relu, providers=("CPUProvider",))


@pytest.mark.parametrize("providers", ["CPUExecutionProvider", ()])
def test_providers_are_a_tuple_of_one_or_more(relu: Path, providers) -> None:
    with pytest.raises(ValueError, match="providers must be a tuple of one name or more"):
        Infer(relu, providers=providers)


def test_a_provider_that_silently_fell_back_is_an_error(relu: Path, monkeypatch) -> None:
    monkeypatch.setattr(onnxruntime.InferenceSession, "get_providers", lambda self: ["OtherProvider"])

    with pytest.raises(
        ModelProviderError, match=r"CPUExecutionProvider did not start .* fell back to OtherProvider"
    ):
        Infer(relu)


@pytest.mark.usefixtures("no_cuda")
@pytest.mark.parametrize("preferred", [CUDA, (CUDA, {"device_id": 0})])
def test_a_preferred_provider_that_is_not_there_is_passed_over_with_a_warning(relu: Path, preferred) -> None:
    said = (
        f"Infer: asked for {CUDA}, {CPU}, in force: {CPU}; {CUDA} is not in this ONNX Runtime: "
        "install it with: pip install onnxruntime-gpu"
    )

    with pytest.warns(ProviderFallbackWarning) as caught:
        infer = Infer(relu, providers=(preferred, CPU))

    assert [str(warning.message) for warning in caught] == [said]
    assert infer.providers_in_use == (CPU,)
    assert infer(image()).tensors[0].array.mean() == 3.0


@pytest.mark.usefixtures("no_cuda")
def test_the_warning_is_a_user_warning_that_points_to_the_line_of_the_infer(relu: Path) -> None:
    with pytest.warns(UserWarning, match="in force") as caught:
        Infer(relu, providers=(CUDA, CPU))

    assert caught[0].filename == __file__


@pytest.mark.usefixtures("no_cuda")
def test_several_sessions_warn_once(relu: Path) -> None:
    with pytest.warns(ProviderFallbackWarning) as caught:
        Infer(relu, providers=(CUDA, CPU), sessions=3, threads=3)

    assert len(caught) == 1


@pytest.mark.usefixtures("no_cuda")
def test_a_pickle_looks_for_the_providers_of_its_own_machine(relu: Path, monkeypatch) -> None:
    with pytest.warns(ProviderFallbackWarning):
        infer = Infer(relu, providers=(CUDA, CPU))

    with pytest.warns(ProviderFallbackWarning):
        twin = pickle.loads(pickle.dumps(infer))

    assert twin.providers == (CUDA, CPU)
    assert twin.providers_in_use == (CPU,)


@pytest.mark.usefixtures("no_cuda")
def test_the_only_provider_that_is_not_there_is_refused_with_its_package(relu: Path) -> None:
    with pytest.raises(ModelProviderError, match=f"no provider '{CUDA}'.*pip install onnxruntime-gpu"):
        Infer(relu, providers=((CUDA, {"device_id": 0}),))


@pytest.mark.usefixtures("no_cuda")
def test_several_of_which_none_is_there_are_refused(relu: Path) -> None:
    with pytest.raises(ModelProviderError, match=r"no provider 'TensorrtExecutionProvider'.*available: CPU"):
        Infer(relu, providers=("TensorrtExecutionProvider", CUDA))


@pytest.mark.usefixtures("no_cuda")
def test_a_provider_without_a_package_of_its_own_says_what_it_takes(relu: Path) -> None:
    with pytest.raises(ModelProviderError, match="take an ONNX Runtime that was built with it"):
        Infer(relu, providers=("CoreMLExecutionProvider",))


@pytest.mark.parametrize("providers", [("CUDA", CPU), (CPU, "cpu"), (("CudaExecutionProvider", {}), CPU)])
def test_a_misspelt_name_is_refused_though_another_could_take_its_place(relu: Path, providers) -> None:
    with pytest.raises(ModelProviderError, match="check its spelling"):
        Infer(relu, providers=providers)


@pytest.mark.parametrize(("fate", "why"), [("is left out", ""), ("fails", " (CUDA error 35: old driver)")])
def test_a_provider_that_does_not_start_is_passed_over_and_nothing_is_printed(
    relu: Path, cuda, capfd, fate: str, why: str
) -> None:
    cuda[:] = [fate]
    said = (
        f"Infer: asked for {CUDA}, {CPU}, in force: {CPU}; "
        f"{CUDA} did not start{why}: check its driver and libraries"
    )

    with pytest.warns(ProviderFallbackWarning) as caught:
        infer = Infer(relu, providers=(CUDA, CPU))

    assert [str(warning.message) for warning in caught] == [said]
    assert infer.providers_in_use == (CPU,)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("fate", ["is left out", "fails"])
def test_the_only_provider_that_does_not_start_is_refused(relu: Path, cuda, fate: str) -> None:
    cuda[:] = [fate]

    with pytest.raises(ModelProviderError, match=f"{CUDA} did not start.*check its driver and libraries"):
        Infer(relu, providers=(CUDA,))


def test_one_that_starts_is_in_force_without_a_word(relu: Path, cuda) -> None:
    cuda[:] = ["starts"]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer = Infer(relu, providers=(CUDA,))

    assert infer.providers_in_use == (CUDA, CPU)


def test_in_force_is_what_every_session_has(relu: Path, cuda) -> None:
    cuda[:] = ["starts", "fails"]

    with pytest.warns(ProviderFallbackWarning, match=rf"{CUDA} did not start \(CUDA error 35"):
        infer = Infer(relu, providers=(CUDA, CPU), sessions=2, threads=2)

    assert infer.providers_in_use == (CPU,)


def test_a_bad_model_is_the_models_fault_whatever_the_provider(cuda) -> None:
    cuda[:] = ["is left out"]

    with pytest.raises(ModelFileError, match="a model of 9 bytes is not a model that ONNX Runtime"):
        Infer(b"not a one", providers=(CUDA, CPU))


@pytest.mark.parametrize("provider", [1, None, (CPU,), (CPU, None), (1, {}), (CPU, {}, {})])
def test_a_provider_of_another_form_is_no_fault_of_the_model(relu: Path, provider) -> None:
    with pytest.raises(ModelProviderError, match=r"a provider is a name, or \(name, options\).*, got "):
        Infer(relu, providers=(provider,))
