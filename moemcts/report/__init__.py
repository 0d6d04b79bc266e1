"""The report: tables, plots and a page that says what was found, null results included."""

from moemcts.report.page import Figure, Report, Section, write_report
from moemcts.report.tables import Table

__all__ = ["Figure", "Report", "Section", "Table", "write_report"]
