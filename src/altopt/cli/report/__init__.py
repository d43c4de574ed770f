"""The report of a fit, as one self-contained HTML page."""

from altopt.cli.report.page import demo_report, model_report

__all__ = ["demo_report", "model_report"]
