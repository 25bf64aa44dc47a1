"""Run an Xopt file that names our generator: ``python -m rahbo.integrations.gest FILE``.

The arguments are those of ``xopt-run``, which knows Xopt's own generators only.
"""

from xopt.entrypoint import main

import rahbo.integrations.gest.xopt  # noqa: F401 - makes the generator known to Xopt

if __name__ == "__main__":
    main()
