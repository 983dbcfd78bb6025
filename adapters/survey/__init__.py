"""Looks at a repository that an order is to be written for; reads files and git's objects, runs nothing."""
