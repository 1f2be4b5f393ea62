"""Studies of the measurement itself: agents with a known horizon in, reported horizons out."""
