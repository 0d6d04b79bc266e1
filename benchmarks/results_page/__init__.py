"""The page of results and the tables of other pages, section by section, from the rows of `benchmarks/results`."""
