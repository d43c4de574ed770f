"""Pictures and words about a fit: HTML that escapes what it is given, charts as SVG, and whole pages."""
