"""Settings shared by the tests and by the doctests of the source."""

# The hooks that skip what needs a library that is not installed.
pytest_plugins = ["extras"]
