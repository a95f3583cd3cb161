"""OpenVINO, imported so that it sends nothing.

Knows how OpenVINO is imported. Knows nothing of models.
"""

from __future__ import annotations

import sys

__all__ = ["ov"]

_TELEMETRY = "openvino_telemetry"

# With that package, which its wheel requires, ``import openvino`` reports itself to Google Analytics
# unless its user opted out. Without it, OpenVINO does without; so it is hidden while OpenVINO is imported.
_hidden = _TELEMETRY not in sys.modules
if _hidden:
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment] # how an import is made to find nothing
try:
    import openvino as ov
finally:
    if _hidden:
        del sys.modules[_TELEMETRY]
