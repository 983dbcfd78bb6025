"""A todo as a workflow, from its creation to its verdict and beyond (DESIGN 3 and 6)."""

from workflows.todo.workflow import TodoWorkflow

__all__ = ["TodoWorkflow"]
