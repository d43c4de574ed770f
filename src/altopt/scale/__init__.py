"""Past memory, past one machine: graphs and soft labels on disk, worked on by jobs that are pure functions of files."""
