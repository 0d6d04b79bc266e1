"""Work is mapped over items: in this process or in several."""

from moemcts.work.processes import Processes, num_cores
from moemcts.work.workers import Here, Report, Task, Workers, workers

__all__ = ["Here", "Processes", "Report", "Task", "Workers", "num_cores", "workers"]
