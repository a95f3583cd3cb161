"""The exception tree."""

from __future__ import annotations

import pickle

import pytest

from ml_pipes import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_is_a_pipeline_error_and_pickles_with_its_words_and_notes(kind: type[Exception]) -> None:
    error = kind("what came, and the way out")
    error.add_note("in step 3:Decode")

    twin = pickle.loads(pickle.dumps(error))

    assert isinstance(error, errors.PipelineError)
    assert type(twin) is kind
    assert twin.args == ("what came, and the way out",)
    assert twin.__notes__ == ["in step 3:Decode"]


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.StructureError, ValueError),
        (errors.SignatureError, TypeError),
        (errors.SignatureError, ValueError),
        (errors.StepInputError, TypeError),
        (errors.SelectorRuntimeError, TypeError),
        (errors.SelectorIndexError, IndexError),
        (errors.MissingNameError, KeyError),
        (errors.ModelNotFoundError, FileNotFoundError),
        (errors.ModelProviderError, ValueError),
        (errors.ModelBatchError, ValueError),
        (errors.BatchSizeError, RuntimeError),
        (errors.DecodeError, ValueError),
        (errors.ModelFileError, OSError),
        (errors.ModelInputError, ValueError),
    ],
)
def test_each_error_is_the_builtin_that_people_would_catch(kind: type, builtin: type) -> None:
    assert issubclass(kind, builtin)


def test_the_docstring_draws_the_whole_tree() -> None:
    assert all(kind.__name__ in (errors.__doc__ or "") for kind in CLASSES)


def test_a_missing_name_reads_as_a_sentence() -> None:
    assert str(errors.MissingNameError("'b' was not stored")) == "'b' was not stored"


def test_a_selectors_error_keeps_its_path_through_pickle() -> None:
    twin = pickle.loads(pickle.dumps(errors.SelectorIndexError("out of range", path="a[3]")))

    assert (twin.path, str(twin)) == ("a[3]", "out of range")
