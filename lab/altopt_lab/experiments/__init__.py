"""The experiments of the paper: methods, tuning, runs, their records, and the tables made of them."""
