"""A list of operators becomes a plan; a driver carries a value through it; see README.md."""
