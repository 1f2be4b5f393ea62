"""Scripted agents: the same job done with different care, and agents whose true horizon is known."""
