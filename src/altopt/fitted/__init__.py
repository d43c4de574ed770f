"""The fitted model: what it holds, and what it can be asked and told."""
