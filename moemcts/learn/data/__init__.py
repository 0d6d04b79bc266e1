"""Samples: recorded, stored, read again, phase by phase."""
