"""Model selection and evaluation from the training labels alone."""
