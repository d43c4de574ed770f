"""The loops in which a fit spends its time: compiled, and as slow twins in numpy and scipy."""
