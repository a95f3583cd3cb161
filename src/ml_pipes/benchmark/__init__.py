"""How fast a pipeline is: loads, what was measured under them, and what may be said of it.

Knows pipelines, their factories and their traces. Knows nothing of what a step does.
"""

try:
    from ml_pipes.benchmark.benchmark import Benchmark
    from ml_pipes.benchmark.builder import BenchmarkBuilder
    from ml_pipes.benchmark.collector import BenchmarkCollector
    from ml_pipes.benchmark.compare import compare, compare_all
    from ml_pipes.benchmark.comparison import ComparisonResult
    from ml_pipes.benchmark.config import MeasurementConfig
    from ml_pipes.benchmark.environment import environment
    from ml_pipes.benchmark.gate import GateResult, gate
    from ml_pipes.benchmark.hardware import Hardware
    from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries
    from ml_pipes.benchmark.measure import measure
    from ml_pipes.benchmark.parts import ScenarioFigure
    from ml_pipes.benchmark.report import report_page, save_report
    from ml_pipes.benchmark.result import BenchmarkDiff, BenchmarkResult
    from ml_pipes.benchmark.samples import Samples
    from ml_pipes.benchmark.scenarios import (
        MultiStream,
        OfflineScenario,
        Outcome,
        Scenario,
        Server,
        SingleStream,
    )
    from ml_pipes.benchmark.space import ConfigFilter
    from ml_pipes.benchmark.stat import InvocationStat, InvocationStatDiff, RegionStat
    from ml_pipes.benchmark.sweep import BenchmarkSweep
    from ml_pipes.benchmark.verdict import Rules, Verdict, judge
    from ml_pipes.factory import DataFactory, DataFactoryLike, InputFn, PipelineFactory, PipelineFactoryLike
except ImportError as missing:
    if missing.name != "numpy":
        raise
    raise ImportError(
        'ml_pipes.benchmark needs numpy; install it with: pip install "ml-pipes[benchmark]"', name="numpy"
    ) from missing

__all__ = [
    "Benchmark",
    "BenchmarkBuilder",
    "BenchmarkCollector",
    "BenchmarkDiff",
    "BenchmarkResult",
    "BenchmarkSweep",
    "ClosedLoop",
    "ComparisonResult",
    "ConfigFilter",
    "DataFactory",
    "DataFactoryLike",
    "GateResult",
    "Hardware",
    "InputFn",
    "InvocationStat",
    "InvocationStatDiff",
    "Load",
    "MeasurementConfig",
    "MultiStream",
    "Offline",
    "OfflineScenario",
    "OpenLoop",
    "Outcome",
    "PipelineFactory",
    "PipelineFactoryLike",
    "Queries",
    "RegionStat",
    "Rules",
    "Samples",
    "Scenario",
    "ScenarioFigure",
    "Server",
    "SingleStream",
    "Verdict",
    "compare",
    "compare_all",
    "environment",
    "gate",
    "judge",
    "measure",
    "report_page",
    "save_report",
]
