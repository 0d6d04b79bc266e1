"""Training: networks through the stages of a scheme, resumable to the bit."""
