"""What a release decision has to do on a bench: measure, drill, and make regression cases of incidents."""
