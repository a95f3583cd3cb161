"""What programs write today stays right, of the engine and its instruments: names, signatures, bases.

A function or a class may take more than what is written here, after it, by name or with a default.
Steps are in ``tests/vision/test_signatures.py``.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from typing import Any, get_origin

import pytest

from ml_pipes.benchmark import InvocationStat, InvocationStatDiff, MeasurementConfig
from ml_pipes.tracing import InvocationTrace, StepSpan, TracingConfig

_WANTED: dict[str, dict[str, str]] = {
    "core": {
        "Context": "(values=None)",
        "Embed": "(pipeline)",
        "Inline": "(pipeline)",
        "Operator": "(cls)",
        "Pipeline": "(operators=())",
        "PipelineDescription": "(operators=<factory>)",
        "RegionCloser": "()",
        "RegionOpener": "()",
        "embed": "(pipeline)",
        "inline": "(pipeline)",
    },
    "tracing": {
        "InvocationTrace": "(spans=(), total_duration_s=0.0, batch_size=None, workers=None)",
        "StepSpan": (
            "(label, start_time, duration_s, error=False, operator_config=None, attributes=None, "
            "input_shape=None, output_shape=None, output_value=None, child_trace=None, operator_type=None)"
        ),
        "TraceCollector": "()",
        "TracingConfig": "(capture_config=False, capture_shapes=False, _capture_outputs=False)",
        "capture_value": "(value)",
        "freeze_trace": "(trace)",
        "merge_traces": "(traces)",
        "operator_config": "(op)",
    },
    "collectors": {
        "AggregateCollector": "()",
        "CaptureCollector": "()",
        "ConcurrentCollector": "(maxsize=0)",
        "PrintCollector": "()",
        "SerialCollector": "()",
        "ThroughputCollector": "(target_fps=None, report_interval_s=1.0, window_s=1.0)",
    },
    "collectors.otel_collector": {"OtelCollector": "(tracer_name='ml-pipes')"},
    "benchmark": {
        "Benchmark": f"(pipeline, input_fn, measurement={MeasurementConfig()}, label='', metadata=None)",
        "BenchmarkBuilder": "(source)",
        "BenchmarkCollector": "(config)",
        "BenchmarkDiff": "(baseline, candidate, total, operators)",
        "BenchmarkResult": "(label, metadata, total, operators)",
        "BenchmarkSweep": (
            "(factory, configs, data_factory, data_configs=None, measurement=None, label_prefix=None, "
            "extra_metadata=None)"
        ),
        "DataFactory": "(source)",
        "InvocationStat": (
            "(label, count, mean_ms, stddev_ms, min_ms, max_ms, percentiles, children=<factory>)"
        ),
        "InvocationStatDiff": "(label, only_in, mean_delta_ms, mean_delta_pct, percentile_deltas)",
        "MeasurementConfig": "(runs=100, warmup=10, percentiles=(0.5, 0.95, 0.99))",
        "PipelineFactory": "(source)",
    },
    "factory": {
        "DataFactory": "(source)",
        "Factory": "(source)",
        "PipelineFactory": "(source)",
        "data_factory": "(fn)",
        "pipeline_factory": "(fn)",
    },
    "context": {
        "Context": "(values=None)",
        "ContextOp": "()",
        "Recall": "(name, prepend=False)",
        "Store": "(name, *, source=None)",
    },
    "region": {"RegionCloser": "()", "RegionOpener": "()"},
    "operator": {
        "Operator": "(cls)",
        "OperatorArgument": "(name, value, kind, source='passed', passed_by_keyword=False)",
        "OperatorDescription": (
            "(name, arguments=<factory>, constructor_signature=None, bare_callable=False)"
        ),
        "get_operator_argument_entries": "(operator)",
        "get_operator_constructor_signature": "(operator)",
        "get_operator_name": "(operator)",
    },
    "selector": {
        "SelectedField": (
            "(root, parent_selector, field_selection, parent_path, field_path, root_label='x')"
        ),
        "Selector": "(steps=())",
        "SelectorIndexError": "(message, *, selector=None, path=None)",
        "SelectorRuntimeError": "(message, *, selector=None, path=None)",
    },
}
_MEMBERS: dict[str, dict[str, str]] = {
    "core.Context": {
        "as_dict": "(self)",
        "get": "(self, name, default=None)",
        "load": "(self, name)",
        "merge": "(self, other)",
        "store": "(self, name, value)",
        "with_values": "(self, **values)",
    },
    "core.Embed": {"__call__": "(self, value)"},
    "core.Pipeline": {
        "__add__": "(self, other)",
        "__call__": "(self, value)",
        "__rshift__": "(self, other)",
        "describe": "(self, *, show_defaults=False, verbose=False)",
        "extend": "(self, operators)",
        "operators": "property",
        "set_tracing": "(self, collector)",
        "trace_collector": "property",
    },
    "core.PipelineDescription": {"render": "(self, *, show_defaults=False, verbose=False)"},
    "tracing.InvocationTrace": {
        "spans": "property",
        "total_duration_s": "property",
        "batch_size": "property",
        "workers": "property",
        "span_fractions": "(self)",
    },
    "tracing.TraceCollector": {"on_trace": "(self, trace)"},
    "collectors.AggregateCollector": {
        "avg_pipeline_latency_ms": "property",
        "avg_trace": "property",
        "print_summary": "(self)",
        "reset": "(self)",
        "total_calls": "property",
    },
    "collectors.ConcurrentCollector": {
        "__enter__": "(self)",
        "__exit__": "(self, *_)",
        "flush": "(self)",
        "on_trace": "(self, trace)",
        "stop": "(self)",
    },
    "collectors.PrintCollector": {"print_trace": "(self, trace=None)"},
    "collectors.SerialCollector": {"on_trace": "(self, trace)"},
    "collectors.ThroughputCollector": {
        "fps": "property",
        "print_summary": "(self)",
        "reset": "(self)",
        "window_fps": "property",
    },
    "benchmark.Benchmark": {"run": "(self)"},
    "benchmark.BenchmarkBuilder": {
        "data_config": "(self, **kwargs)",
        "data_config_axis": "(self, key, *values)",
        "data_config_filter": "(self, pred)",
        "data_config_set": "(self, configs)",
        "data_factory": "(self, factory)",
        "data_input": "(self, fn)",
        "data_inputs": "(self, fns, labels)",
        "factory": "classmethod (cls, f)",
        "grid": "(self)",
        "label": "(self, s)",
        "metadata": "(self, d)",
        "percentiles": "(self, *ps)",
        "pipeline": "classmethod (cls, p)",
        "pipeline_config": "(self, **kwargs)",
        "pipeline_config_axis": "(self, key, *values)",
        "pipeline_config_filter": "(self, pred)",
        "pipeline_config_set": "(self, configs)",
        "plan": "(self)",
        "run": "(self, verbose=True)",
        "runs": "(self, n)",
        "warmup": "(self, n)",
    },
    "benchmark.BenchmarkCollector": {"report": "(self, label='', metadata=None)", "reset": "(self)"},
    "benchmark.BenchmarkDiff": {"to_table": "(self)"},
    "benchmark.BenchmarkResult": {
        "diff": "(self, other)",
        "load": "classmethod (cls, path)",
        "save": "(self, path)",
        "slug": "(self, ext='')",
        "to_comparison_table": "staticmethod (results, expand_regions=True)",
        "to_dict": "(self)",
        "to_table": "(self, expand_regions=True)",
    },
    "benchmark.BenchmarkSweep": {"run": "(self)"},
    "factory.Factory": {
        "__call__": "(self, *args, **kwargs)",
        "build": "(self, config)",
        "discover": "classmethod (cls, module, explicit_fn=None)",
        "ensure_factory": "classmethod (cls, source)",
        "from_callable": "classmethod (cls, source)",
        "validate_config": "(self, config, *, name='factory')",
    },
    "context.ContextOp": {"apply": "(self, current, context)"},
    "context.Recall": {"apply": "(self, current, context)"},
    "context.Store": {"apply": "(self, current, context)"},
    "region.RegionExecutor": {"__call__": "(self, value, child_trace)"},
    "operator.OperatorArgument": {
        "is_default": "property",
        "is_passed": "property",
        "to_dict": "staticmethod (arguments)",
    },
    "operator.OperatorDescription": {
        "all_args": "property",
        "default_args": "property",
        "from_operator": "classmethod (cls, operator)",
        "passed_args": "property",
        "render": "(self, *, show_defaults=False, verbose=False)",
    },
    "selector.SelectedField": {"set": "(self, value, *, create_missing_mappings=False, error_prefix=None)"},
    "selector.Selector": {
        "from_input": "classmethod (cls, selector)",
        "render_path": "(self, root_label='x', upto=None)",
        "select_field": "(self, value, *, root_label='x')",
        "select_value": "(self, value, *, error_prefix=None, root_label='x')",
    },
}
_BASES = {
    "collectors.AggregateCollector": ["ConcurrentCollector", "TraceCollector"],
    "collectors.CaptureCollector": ["SerialCollector", "TraceCollector"],
    "collectors.ConcurrentCollector": ["TraceCollector"],
    "collectors.PrintCollector": ["CaptureCollector", "SerialCollector", "TraceCollector"],
    "collectors.SerialCollector": ["TraceCollector"],
    "collectors.ThroughputCollector": ["AggregateCollector", "ConcurrentCollector", "TraceCollector"],
    "collectors.otel_collector.OtelCollector": ["ConcurrentCollector", "TraceCollector"],
    "benchmark.BenchmarkCollector": ["ConcurrentCollector", "TraceCollector"],
    "factory.DataFactory": ["Factory"],
    "factory.PipelineFactory": ["Factory"],
    "context.Recall": ["ContextOp"],
    "context.Store": ["ContextOp"],
    "region.RegionExecutor": ["Protocol"],
    "selector.SelectorIndexError": ["IndexError", "LookupError"],
    "selector.SelectorRuntimeError": ["TypeError"],
}
_SAME = [
    ("core.Context", "context.Context"),
    ("core.Operator", "operator.Operator"),
    ("core.RegionCloser", "region.RegionCloser"),
    ("core.RegionOpener", "region.RegionOpener"),
    ("standard.Recall", "context.Recall"),
    ("standard.Store", "context.Store"),
    ("collectors.OtelCollector", "collectors.otel_collector.OtelCollector"),
    ("benchmark.DataFactory", "factory.DataFactory"),
    ("benchmark.PipelineFactory", "factory.PipelineFactory"),
]
_CASES = [(room, name) for room, wanted in _WANTED.items() for name in wanted]
_MEMBER_CASES = [(owner, member) for owner, members in _MEMBERS.items() for member in members]
_STAT = InvocationStat("total", 1, 2.0, 0.0, 2.0, 2.0, {0.5: 2.0})


@pytest.mark.parametrize(("room", "name"), _CASES)
def test_what_is_made_or_called_takes_the_arguments_that_it_always_took(room: str, name: str) -> None:
    wanted = _WANTED[room][name]

    signature = inspect.signature(_found(f"{room}.{name}"))

    assert _old_part(signature, wanted) == wanted


@pytest.mark.parametrize(("owner", "member"), _MEMBER_CASES)
def test_a_class_has_the_members_that_it_always_had(owner: str, member: str) -> None:
    kind, wanted = _split(_MEMBERS[owner][member])

    found = inspect.getattr_static(_found(owner), member)

    if kind == "property":
        assert isinstance(found, property)
    else:
        assert type(found).__name__ == kind
        assert _old_part(inspect.signature(getattr(found, "__func__", found)), wanted) == wanted


@pytest.mark.parametrize("owner", _BASES)
def test_a_class_has_the_bases_that_it_always_had(owner: str) -> None:
    bases = [base.__name__ for base in inspect.getmro(_found(owner))[1:]]

    assert [base for base in bases if base in _BASES[owner]] == _BASES[owner]


@pytest.mark.parametrize(("one", "other"), _SAME)
def test_a_name_in_two_rooms_is_one_thing(one: str, other: str) -> None:
    assert _found(one) is _found(other)


@pytest.mark.parametrize(
    "alias",
    [
        "benchmark.ConfigFilter",
        "benchmark.DataFactoryLike",
        "benchmark.InputFn",
        "benchmark.PipelineFactoryLike",
        "core.OperatorLike",
    ],
)
def test_a_type_alias_is_where_it_always_was(alias: str) -> None:
    assert get_origin(_found(alias)) is not None


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (
            StepSpan("0:a", 0.0, 1.0),
            (
                "label start_time duration_s error operator_config attributes input_shape output_shape "
                "output_value child_trace operator_type"
            ),
        ),
        (TracingConfig(), "capture_config capture_shapes _capture_outputs"),
        (MeasurementConfig(), "runs warmup percentiles"),
        (_STAT, "label count mean_ms stddev_ms min_ms max_ms percentiles children"),
        (
            InvocationStatDiff("0:a", None, 1.0, 2.0, {}),
            "label only_in mean_delta_ms mean_delta_pct percentile_deltas",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_record_has_its_fields_and_cannot_be_changed(value: Any, fields: str) -> None:
    names = [field.name for field in dataclasses.fields(value)]

    assert names[: len(fields.split())] == fields.split()
    for name in fields.split():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)


def test_a_trace_cannot_be_changed() -> None:
    trace = InvocationTrace([StepSpan("0:a", 0.0, 1.0)], 1.0, batch_size=2.0, workers=3)

    assert (len(trace.spans), trace.total_duration_s, trace.batch_size, trace.workers) == (1, 1.0, 2.0, 3)
    for name in ("spans", "total_duration_s", "batch_size", "workers"):
        with pytest.raises(AttributeError):
            setattr(trace, name, None)


def test_what_is_left_out_is_empty_and_of_each_object_by_itself() -> None:
    one, other = StepSpan("0:a", 0.0, 1.0), StepSpan("0:a", 0.0, 1.0)

    assert (one.operator_config, one.attributes) == ({}, {})
    assert one.attributes is not other.attributes
    assert _found("core.Context")().as_dict() == {}
    assert len(InvocationTrace().spans) == 0
    assert _STAT.children == []


def _found(path: str) -> Any:
    room, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"ml_pipes.{room}"), name)


def _split(wanted: str) -> tuple[str, str]:
    """The kind of a member and its signature."""
    kind, opening, rest = wanted.partition("(")
    return (kind.strip() or "function"), opening + rest


def _old_part(signature: inspect.Signature, wanted: str) -> str:
    """The signature without annotations and without what came later, which needs no argument."""
    parameters = list(signature.parameters.values())
    old = [one for one in parameters if one.name in re.findall(r"\w+", wanted)]
    positional = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional[: sum(one in old for one in positional)] == [one for one in positional if one in old]
    assert all(one.default is not one.empty for one in parameters if one not in old)
    return str(inspect.Signature([one.replace(annotation=one.empty) for one in old]))
