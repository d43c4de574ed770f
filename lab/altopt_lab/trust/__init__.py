"""Generated cases for every way into altopt, tried at length by `make trust`; nothing may crash, hang or lie."""
