"""Results as one page of HTML that needs no other file and no network.

Knows results, tables and figures. Knows nothing of how anything was measured.
"""

from ml_pipes.benchmark.report.page import report_page, save_report

__all__ = ["report_page", "save_report"]
