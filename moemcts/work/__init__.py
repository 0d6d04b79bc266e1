"""Maps tasks over items: in this process, in several processes, or in Ray actors."""

from moemcts.work.processes import Processes, num_cores
from moemcts.work.ray_workers import RayWorkers
from moemcts.work.workers import InProcess, Report, Task, Workers, workers

__all__ = ["InProcess", "Processes", "RayWorkers", "Report", "Task", "Workers", "num_cores", "workers"]
