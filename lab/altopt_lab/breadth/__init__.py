"""AltOpt() beside simple peers on data of many kinds, under several kinds of draw: `altopt reproduce breadth`."""
