"""Card C5: watching over a resident in bed for hours."""
