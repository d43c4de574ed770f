"""The torch half of the neural encoders, imported only when one of them begins."""
