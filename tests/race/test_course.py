"""One race: what is wanted next, whatever arrives first."""

from random import Random

from rahbo.race import FIRST, MOST_FAILURES, Course, Rule


def value(entrant, number):
    return entrant + Random(f"{entrant} {number}").gauss(0, 1)


def finished(jobs):
    """A race whose runs end in a random order."""
    order = Random(0)
    course = Course(3, Rule(0.05), 400)
    under_way = []
    while course.ended is None:
        under_way += course.wanted(jobs - len(under_way), under_way)
        run = under_way.pop(order.randrange(len(under_way)))
        course.offer(*run, value(*run))
    return course


def test_a_race_does_not_depend_on_who_ends_first():
    alone = finished(1)
    assert alone.ended == "decided"
    assert alone.ahead == 0
    for jobs in (2, 5):
        other = finished(jobs)
        assert other.values == alone.values
        assert other.runs == alone.runs
        assert other.ended == alone.ended
        assert other.ahead < 4 * jobs


def test_what_is_known_already_is_not_wanted_again():
    course = Course(2, Rule(0.05), 20)
    assert course.wanted(3) == [(0, 0), (1, 0), (0, 1)]
    assert course.wanted(2, [(0, 0)]) == [(1, 0), (0, 1)]
    course.offer(1, 0, 5.0)
    assert course.known(1, 0)
    assert course.runs == 0
    assert course.wanted(2) == [(0, 0), (0, 1)]
    course.offer(0, 0, 4.0)
    assert course.runs == 2


def driven(course, outcome):
    """A race whose runs end one by one."""
    while course.ended is None:
        (run,) = course.wanted(1)
        course.offer(*run, outcome(*run))
    return course


def test_an_entrant_that_fails_again_and_again_is_out():
    def first_breaks(entrant, number):
        return "exit code 1" if entrant == 0 else value(entrant, number)

    course = driven(Course(3, Rule(0.05), 60), first_breaks)
    assert course.entrants == [1, 2]
    assert len(course.failures[0]) == MOST_FAILURES
    assert course.state is not None
    lonely = driven(Course(2, Rule(0.05), 60), first_breaks)
    assert lonely.ended == "failed"
    assert lonely.wanted(1) == []


def test_failures_now_and_then_count_towards_the_budget():
    course = driven(
        Course(2, Rule(0.05), 15), lambda e, n: "beam trip" if n % 3 == 1 else 0.1 * value(0, n)
    )
    assert course.ended == "budget"
    assert course.runs == 15
    assert all(len(values) >= FIRST for values in course.values)


def test_failures_in_a_row_do_not_put_out_an_entrant_whose_runs_mostly_give_values():
    def failing(first, last):
        lost = range(first, last)
        return lambda e, n: "node lost" if e == 0 and n in lost else value(0, n)

    course = driven(Course(2, Rule(0.05), 60), failing(6, 9))
    assert course.ended == "budget"
    assert course.entrants == [0, 1]
    course = driven(Course(2, Rule(0.05), 60), failing(6, 60))
    assert course.ended == "failed"
    assert len(course.failures[0]) == 7
    assert course.not_compared == [0]
