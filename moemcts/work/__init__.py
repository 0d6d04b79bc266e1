"""Maps tasks over items: in this process, in several processes, or in Ray actors."""

from moemcts.work.processes import Processes, num_cores
from moemcts.work.rays import Rays
from moemcts.work.workers import Here, Report, Task, Workers, workers

__all__ = ["Here", "Processes", "Rays", "Report", "Task", "Workers", "num_cores", "workers"]
