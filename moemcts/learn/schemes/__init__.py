"""Learning schemes: what each expert is trained on."""
