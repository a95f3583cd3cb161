"""The cellar: every thread, lock, queue and clock of the house; see README.md."""
