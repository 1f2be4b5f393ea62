"""What must never happen, whoever commands."""
