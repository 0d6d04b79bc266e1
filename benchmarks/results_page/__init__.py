"""Sections of the page of results, and tables of other pages, from the rows of `benchmarks/results`."""
