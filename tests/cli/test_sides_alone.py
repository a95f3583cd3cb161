"""Models that are compared are opened as if each were alone."""

from __future__ import annotations

from ml_pipes.__main__ import main
from ml_pipes._runtimes.cpu import opened_alone


def test_both_sides_of_a_comparison_have_as_many_threads(write, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "3")
    write(
        "leased.py",
        """
        from ml_pipes import Pipeline
        from ml_pipes._runtimes.cpu import ThreadLease
        from ml_pipes.factory import data_factory, pipeline_factory

        @pipeline_factory
        def make():
            lease = ThreadLease()
            print(f"threads: {lease.threads}")
            def hold(value: object) -> int:
                return lease.threads
            return Pipeline([hold])

        @data_factory
        def given():
            return lambda: (1, 2, 3, 4)
        """,
    )
    arguments = ["compare", "leased.py", "leased.py", "--blocks", "2", "--block-calls", "2", "--warmup", "1"]

    with opened_alone():
        assert main(arguments) == 0

    assert capsys.readouterr().err == "threads: 3\nthreads: 3\n"
