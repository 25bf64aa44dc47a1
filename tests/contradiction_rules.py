"""Statements about one run that contradict each other.

`contradictions` knows what is said and the numbers behind it, and nothing of how the sentences are
made. Each rule is a function of its own, and its name is part of what is found.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import rahbo
from rahbo.analysis import SCORES, Diagnosis, Recommendation, are_alike
from rahbo.pages.report.record import ReportRecord, record_of
from rahbo.policy import GPUCB, RahboUS
from run_shapes import SHAPES

# Draws behind probabilities: they are this fine.
STEP = 1.0 / 640
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


@dataclass(frozen=True)
class Case:
    """What is said of one run.

    Attributes:
        optimizer: The run.
        found: Its recommendation.
        told: Its diagnosis.
        record: Its report, if there is one.
    """

    optimizer: rahbo.Optimizer
    found: Recommendation
    told: Diagnosis
    record: ReportRecord | None = None

    @property
    def sign(self) -> float:
        return self.optimizer.settings.sign

    @property
    def text(self) -> str:
        return str(self.found)

    @property
    def plain(self) -> bool:
        """Whether the diagnosis judges by the bound that the run reports by."""
        settings = self.optimizer.settings
        special = isinstance(settings.method.strategy, GPUCB | RahboUS) or settings.space.conditions
        return not special and self.found.rule == "pessimistic"


RULES: list[Callable[[Case], Iterator[str]]] = []


def rule(check: Callable[[Case], Iterator[str]]) -> Callable[[Case], Iterator[str]]:
    RULES.append(check)
    return check


def contradictions(
    found: Recommendation,
    told: Diagnosis,
    optimizer: rahbo.Optimizer,
    record: ReportRecord | None = None,
) -> list[str]:
    """Return the contradictions between what is said of one run, each with its rule's name."""
    case = Case(optimizer, found, told, record)
    return [f"{check.__name__}: {what}" for check in RULES for what in check(case)]


# -- what another setting may gain ---------------------------------------------------------------


@rule
def no_gain_and_a_runner_up(case):
    gain, others = case.found.gain, case.found.runner_ups
    if gain.expected <= 0.0 and any(other.gain.expected > 0.0 for other in others):
        yield "no other setting is expected to be better, but a runner-up is"


@rule
def a_runner_up_gains_more_than_any_setting(case):
    gain = case.found.gain
    for other in case.found.runner_ups:
        if other.gain.expected > gain.expected * (1 + 1e-9) or other.gain.bound > gain.bound:
            yield f"{other.gain} against {gain}"


@rule
def an_expectation_above_its_bound(case):
    both = rf"(?:more than|expected gain) ({NUMBER})(?: \(expected gain|, at most) ({NUMBER})"
    for line in case.text.splitlines():
        said = re.search(both, line)
        if said:
            numbers = float(said[1]), float(said[2])
            expected, bound = numbers if line.startswith("runner-up") else numbers[::-1]
            if expected > bound > 0.0:
                yield line


@rule
def p_best_and_gain(case):
    p, gain, level = case.found.p_best, case.found.gain, case.found.level
    if p is None:
        return
    if p > level + 2 * STEP and gain.bound > 0.0:
        yield f"P(best) = {p} but the {level} bound of the gain is {gain.bound}"
    if p < level - 2 * STEP and gain.bound <= 0.0:
        yield f"P(best) = {p} but no gain with probability {level}"
    said = re.search(
        r"P\(best\) +(\S+)|best of the list with probability (> )?(\d(?:\.\d+)?)", case.text
    )
    if said and float(said[1] or said[3]) == 1.0 and gain.expected > 0.0:
        yield f"surely the best, but an expected gain of {gain.expected}"


@rule
def a_better_runner_up_without_the_reason(case):
    found, lines = case.found, [x for x in case.text.splitlines() if x.startswith("runner-up")]
    named = f"{SCORES[found.rule]} ({NUMBER}) .*?({NUMBER})\\)"
    for other, line in zip(found.runner_ups, lines, strict=True):
        better = case.sign * (other.risk - found.risk) > 0.0
        said = re.search(named, line)
        if better and (said is None or said[1] == said[2]):
            yield line


@rule
def two_settings_that_look_the_same(case):
    shown = [re.split(r": (?=risk|pess)", x)[0] for x in case.text.splitlines() if "runner-up" in x]
    if len(set(shown)) < len(shown):
        yield str(shown)


@rule
def gain_of_what_may_not_be_used(case):
    if not case.found.feasible and re.search("better|P.best|best of the list|decided", case.text):
        yield case.text


@rule
def the_report_denies_its_runner_ups(case):
    if case.record is None:
        return
    from rahbo.pages.report.page import report_page

    page = report_page(case.record)
    if ("is worse with at least" in page or "No other setting has been" in page) and (
        case.found.runner_ups
    ):
        yield "no setting could be better, but there are runners-up"


# -- the noise -----------------------------------------------------------------------------------


def _first(text: str) -> str:
    return "yes" if text.startswith("Yes") else "no" if text.startswith("No") else "cannot tell"


@rule
def the_verdict_and_its_answer(case):
    for part in (case.told.unevenness, case.told.decision):
        if _first(part.verdict) != part.answer:
            yield f"{part.answer}: {part.verdict}"


@rule
def not_shown_with_a_small_p_value(case):
    uneven = case.told.unevenness
    explained = "Without repeats" in uneven.verdict or "would show it" in uneven.verdict
    said = re.search(r"p = ([\d.]+)", uneven.verdict)
    if said and float(said[1]) < 0.05 and uneven.answer != "yes" and not explained:
        yield uneven.verdict


@rule
def shown_with_a_large_p_value(case):
    uneven = case.told.unevenness
    said = re.search(r"p = ([\d.]+)", uneven.verdict)
    if said and float(said[1]) > 0.05 and uneven.answer == "yes":
        yield uneven.verdict


@rule
def not_shown_with_intervals_that_do_not_overlap(case):
    ends = np.array([p.noise_std_interval for p in case.optimizer.frontier().evaluated])
    text, uneven = case.told.unevenness.verdict, case.told.unevenness
    explained = "do not overlap" in text or "Without repeats" in text
    if ends[:, 0].max() > ends[:, 1].min() and (
        uneven.answer == "no" or (uneven.answer != "yes" and not explained)
    ):
        yield f"{text} Intervals [{ends.min(axis=0)}] and [{ends.max(axis=0)}]"


@rule
def uneven_by_a_ratio_of_one(case):
    text = case.told.unevenness.verdict
    said = re.search(rf"from ({NUMBER}) to ({NUMBER}) over.* ratio of ({NUMBER})", text)
    if said and (said[1] == said[2] or float(said[3]) < 1.1):
        yield text


@rule
def inputs_of_noise_that_is_not_uneven(case):
    denied = case.told.inputs_verdict.startswith("No answer")
    if denied != (case.told.unevenness.answer != "yes"):
        yield case.told.inputs_verdict


# -- the decision --------------------------------------------------------------------------------


@rule
def no_change_but_a_quieter_runner_up(case):
    found = case.found
    if case.told.decision.answer != "no" or not case.plain:
        return
    for other in found.runner_ups:
        there = case.optimizer.predict(other.params)
        worse_mean = case.sign * (there.mean - found.mean) < 0.0
        if worse_mean and case.sign * (other.risk - found.risk) > 0.0:
            yield f"{case.told.decision.verdict} But {other}"


@rule
def no_change_but_another_best_mean(case):
    found = case.found
    if case.told.decision.answer != "no" or not case.plain:
        return
    for p in case.optimizer.frontier().evaluated:
        x, y = (case.optimizer.settings.space.encode(q) for q in (p.params, found.params))
        known = case.optimizer.state
        better = case.sign * (p.mean - found.mean) > 0.0 and p.feasible
        if (
            better
            and case.sign * (p.risk - found.risk) < 0.0
            and not are_alike(known, x[None], y)[0]
        ):
            best = max(case.optimizer.frontier().evaluated, key=lambda q: case.sign * q.mean)
            if best == p:
                yield f"{case.told.decision.verdict} But the best mean is at {p}"


@rule
def risk_decides_where_noise_is_not_uneven(case):
    if case.told.decision.answer == "yes" and case.told.unevenness.answer != "yes":
        yield f"{case.told.unevenness.verdict} {case.told.decision.verdict}"


@rule
def less_noise_that_is_more(case):
    decision = case.told.decision
    quiet = getattr(decision, "rival", None) or decision.risk_averse
    if decision.answer == "yes" and quiet.noise_std >= decision.risk_neutral.noise_std:
        yield decision.verdict
    said = re.search(f"noise std of ({NUMBER}) instead of ({NUMBER})", decision.verdict)
    if said:
        numbers = [float(said[1]), float(said[2])]
        averse, neutral = numbers if "worse mean" in decision.verdict else numbers[::-1]
        if averse >= neutral:
            yield decision.verdict


@rule
def a_worse_mean_that_is_better(case):
    decision = case.told.decision
    rival = getattr(decision, "rival", None)
    if rival is not None and case.sign * (rival.mean - decision.risk_averse.mean) >= 0.0:
        yield decision.verdict


@rule
def the_decision_is_about_another_setting(case):
    decision = case.told.decision
    if case.plain and decision.risk_averse.params != case.found.params:
        yield f"{decision.risk_averse.params} against {case.found.params}"


@rule
def the_decision_and_other_aversions(case):
    aversion, decision = getattr(case.found, "aversion", None), case.told.decision
    if aversion is None or not case.plain or aversion.penalty is None or not case.found.feasible:
        return
    changed = decision.rival is None and decision.risk_averse != decision.risk_neutral
    if changed and "Any reasonable aversion" in case.text:
        yield f"{decision.verdict} {case.found.sentences}"
    if decision.answer == "no" and aversion.less is not None:
        yield f"{decision.verdict} {case.found.sentences}"


@rule
def another_aversion_that_is_not_another(case):
    aversion = getattr(case.found, "aversion", None)
    if aversion is None or aversion.weight is None:
        return
    if any(other.params == case.found.params for other in aversion.alternatives):
        yield "another aversion would choose the same setting"
    less, more = aversion.less, aversion.more
    if (less and less.weight > aversion.weight) or (more and more.weight < aversion.weight):
        yield f"{less} {aversion.weight} {more}"
    said = re.findall(
        rf"(?:[Ff]rom|[Bb]elow) (?:alpha = )?({NUMBER})", " ".join(case.found.sentences)
    )
    if any(float(weight) == aversion.weight for weight in said):
        yield " ".join(case.found.sentences)


@rule
def the_noise_costs_what_is_between_mean_and_risk(case):
    aversion = getattr(case.found, "aversion", None)
    if aversion is None:
        return
    size = max(abs(case.found.risk), abs(aversion.certain))
    if abs(aversion.risk - case.found.risk) > 1e-9 * size:
        yield f"{aversion.risk} against {case.found.risk}"
    if case.sign * (aversion.certain - aversion.risk) < -1e-12 * size:
        yield "the noise improves the risk value"
    words = " takes " if case.sign > 0 else " adds "
    if aversion.certain != aversion.risk and words not in case.text:
        yield case.text


# -- what to do, and what to expect --------------------------------------------------------------


@rule
def a_cost_of_noise_that_is_not_known(case):
    if case.found.not_noise and (case.found.aversion or case.told.decision.answer != "cannot tell"):
        yield f"{case.found.not_noise!r}, but also what the noise costs or decides"


@rule
def two_numbers_of_further_measurements(case):
    diagnosis = case.told.repeats.verdict
    often = r"Measure [\w ]*?(once more|\d+ more times)"
    ours, theirs = (set(re.findall(often, said)) for said in (case.text, diagnosis))
    if case.plain and ours != theirs:
        yield f"{ours or 'none'} against {theirs or 'none'}: {diagnosis}"
    if re.match("About ", diagnosis) and "at a new point" not in diagnosis and ours:
        yield f"{ours} against {diagnosis}"


@rule
def luck_that_is_not_the_best_value(case):
    luck = getattr(case.found, "luckiest", None)
    if luck is None:
        return
    told = [v for t in case.optimizer.trials for v in t.values.values()]
    valid = case.optimizer.settings.space.valid is None
    if valid and case.sign * luck.value < max(case.sign * v for v in told):
        yield f"{luck} of {told}"
    if luck.is_recommended and not case.optimizer.settings.space.conditions:
        size = max(abs(luck.expected), abs(case.found.mean), 1e-300)
        if abs(luck.expected - case.found.mean) > 1e-6 * size + 1e-6 * luck.spread:
            yield f"expect {luck.expected} but the mean is {case.found.mean}"
        if luck.spread < 0.9 * case.found.noise_std:
            yield f"a new value varies by {luck.spread}, less than its noise"
    said = re.search(rf"promised ({NUMBER}); expect ({NUMBER})", case.text)
    if said and case.sign * (float(said[1]) - float(said[2])) <= 0.0:
        yield said[0]
    if luck.is_recommended != (luck.trial in case.found.trials):
        yield f"trial {luck.trial} against {case.found.trials}"


@rule
def trials_that_gave_other_values(case):
    trials = getattr(case.found, "trials", None)
    if trials is None or case.optimizer.numbers is not None:
        return
    told = [v for t in case.optimizer.trials if t.id in trials for v in t.values.values()]
    if len(told) != case.found.n_evaluations:
        yield f"{len(told)} values of {trials}, measured {case.found.n_evaluations} times"


@rule
def the_report_says_something_else(case):
    if case.record is None:
        return
    trade, points = case.record.pictures.trade, case.record.pictures.points
    ours = [
        c.point for c in trade.choices if trade.own is not None and c.start <= trade.own <= c.end
    ]
    if case.plain and ours and points.recommended not in ours:
        yield f"the slider chooses {ours}, recommended is {points.recommended}"


# -- runs ----------------------------------------------------------------------------------------


def found_in(shape: str, seed: int, with_report: bool) -> list[str]:
    """Return the contradictions in what is said of one run of a shape."""
    rng = np.random.default_rng([seed, sorted(SHAPES).index(shape)])
    optimizer = SHAPES[shape](rng, seed)
    record = record_of(optimizer, source="run", made="now") if with_report else None
    return contradictions(optimizer.recommend(), optimizer.diagnose(), optimizer, record)
