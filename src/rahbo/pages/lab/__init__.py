"""The lab page: begins a study, shows what to try next, and takes the measured values."""

from rahbo.pages.lab.site import PORT, lab_site
from rahbo.pages.lab.spec import Spec
from rahbo.pages.lab.studies import Studies
from rahbo.pages.lab.study import Study

__all__ = ["PORT", "Spec", "Studies", "Study", "lab_site"]
