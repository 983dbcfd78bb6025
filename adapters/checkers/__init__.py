"""How each type of criterion is checked; `registry.checkers` is the one registry. Importing this imports no checker."""

GITHUB_URL = "https://api.github.com"
