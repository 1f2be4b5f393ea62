"""What is asked of the agent, of whom it cares for, and what would be harm."""
