"""The simulated bench: a backend like any other."""
