"""A model that cannot be opened says so when it is built, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelError
from ml_pipes.openvino import Infer, ModelProviderError
from ml_pipes.openvino.silent import ov
from ml_pipes.tensor import TensorPayload


def test_a_device_that_is_not_there_lists_those_there_are(relu: Path) -> None:
    with pytest.raises(
        ModelProviderError, match=r"no device 'TPU' for OpenVINO .*; available: .*CPU.*; check its spelling"
    ):
        Infer(relu, device="TPU")


def test_text_is_left_to_the_other_runtime(make_model) -> None:
    port = (TensorProto.STRING, ("n",))
    path = make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": port}, {"y": port})

    with pytest.raises(ModelError, match=r"'x' of .*tiny.onnx holds string; .*; run it with ml_pipes.onnx"):
        Infer(path, input_layout="N")


def test_openvinos_own_format_is_read(relu: Path, tmp_path: Path) -> None:
    ov.save_model(ov.Core().read_model(relu), tmp_path / "own.xml")
    value = TensorPayload(np.full((2, 3, 4, 4), 5.0, np.float32), "NCHW", "float32")

    outputs = Infer(tmp_path / "own.xml")(value)

    assert outputs.names == ("y",)
    assert outputs.tensors[0] == TensorPayload(value.array, "UNKNOWN", "float32")


def test_importing_the_room_sends_nothing(tmp_path: Path) -> None:
    """OpenVINO reports its own import where its telemetry package is found."""
    (tmp_path / "openvino_telemetry").mkdir()
    (tmp_path / "openvino_telemetry" / "__init__.py").write_text("print('found')\n", encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ml_pipes.openvino, openvino"

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout == ""


def test_ctrl_c_does_not_kill_a_process_whose_first_model_ended_before_its_second(relu: Path) -> None:
    """Each gave the thread a stack for signals; ended in that order, they left it one that was gone."""
    program = (
        "import signal; from ml_pipes.openvino import Infer\n"
        f"first, second = Infer({str(relu)!r}), Infer({str(relu)!r})\n"
        "del first; del second\n"
        "try: signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (0, "interrupted\n")


def test_ctrl_c_does_not_kill_a_process_whose_model_ended_on_another_thread(relu: Path) -> None:
    program = (
        "import signal, threading; from ml_pipes.openvino import Infer\n"
        f"models = [Infer({str(relu)!r})]\n"
        "thread = threading.Thread(target=models.clear); thread.start(); thread.join()\n"
        "try: signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (0, "interrupted\n")
