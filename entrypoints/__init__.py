"""The doors: the processes that people and programs start, and what they say to each other."""
