"""Shared parts of benchmarks: rows and their origin, positions, trainings, pooling of seeds."""
