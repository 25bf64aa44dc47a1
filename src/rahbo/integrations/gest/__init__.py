"""A generator for Xopt, libEnsemble, Optimas and others that follow the gest-api standard.

`RahboGenerator` needs gest-api only. `rahbo.integrations.gest.xopt` has the same generator in the
form that Xopt writes to its YAML files and reads from them.
"""

from rahbo.integrations.gest.generator import RahboGenerator

__all__ = ["RahboGenerator"]
