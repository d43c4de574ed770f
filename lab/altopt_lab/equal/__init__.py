"""The paper's own method beside its peers: as many trials on the same splits for each, judged on fresh splits."""
