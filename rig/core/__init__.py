"""The vocabulary every other package speaks: values, protocols, clock, record format, errors."""
