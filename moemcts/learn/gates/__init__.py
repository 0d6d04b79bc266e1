"""Gates that are learned from data, and their files."""
