"""The loop: update F, train the encoder on it, again."""
