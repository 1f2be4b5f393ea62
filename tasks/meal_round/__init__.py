"""The meal-round task: medicines and a meal for several residents, with interruptions and a restart."""
