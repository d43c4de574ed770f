"""Commands that altopt_lab adds to the command line of altopt."""
