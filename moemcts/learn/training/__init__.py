"""Training of networks through the stages of a scheme, with bit-exact resume."""
