"""Work is mapped over tasks: in this process or in several."""
