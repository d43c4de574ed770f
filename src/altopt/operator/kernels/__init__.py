"""The few loops that everything's time goes into, in a plain and in a fast form."""
