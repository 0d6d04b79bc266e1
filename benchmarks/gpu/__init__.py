"""The pieces of `gpu_plan.py`: what it measures, the set of experts that it trains, and how folders travel."""
