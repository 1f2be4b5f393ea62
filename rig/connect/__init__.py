"""Ways in for agents that run elsewhere: Inspect AI evaluations, and clients of the Model Context Protocol."""
