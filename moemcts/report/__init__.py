"""Reports: tables, plots and a page with the findings of a run, including null results."""

from moemcts.report.page import Figure, Report, Section, write_report
from moemcts.report.tables import Table

__all__ = ["Figure", "Report", "Section", "Table", "write_report"]
