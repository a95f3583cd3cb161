"""The collectors' front door needs nothing but Python."""

from __future__ import annotations

import subprocess
import sys


def test_what_exports_elsewhere_is_imported_when_it_is_made() -> None:
    program = """
import sys
import ml_pipes.collectors
print(sorted({name.partition(".")[0] for name in sys.modules} & {"opentelemetry", "prometheus_client"}))
from opentelemetry.sdk.trace import TracerProvider
ml_pipes.collectors.OtelCollector(tracer_provider=TracerProvider(shutdown_on_exit=False))
ml_pipes.collectors.PrometheusCollector("faces")
print(sorted({name.partition(".")[0] for name in sys.modules} & {"opentelemetry", "prometheus_client"}))
"""

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.stdout.splitlines(), ended.stderr) == (["[]", "['opentelemetry', 'prometheus_client']"], "")
