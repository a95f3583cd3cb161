"""How fast a pipeline is: loads, what was measured under them, and what may be said of it."""
