"""The version of the package, for all that may not import the package itself."""

__version__ = "0.1.0"
