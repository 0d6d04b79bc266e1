"""The parts of `gpu_plan.py`: its measurements, its sets of experts, and the packing of folders for transfer."""
