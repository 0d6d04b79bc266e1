"""What benchmarks share: rows and where they come from, positions, trainings, matches of several seeds as one."""
