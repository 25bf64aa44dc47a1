import json
import sys

import numpy as np
import optuna
import pytest

import rahbo
from extras import imported
from rahbo.errors import NotReadyError, SettingsError
from rahbo.integrations.optuna import publish

dashboard = imported("optuna_dashboard")

HOSTILE = "<img src=x onerror=alert(1)>```"


@pytest.fixture
def study():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    found = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.suggest_categorical(HOSTILE, ["a", HOSTILE])
        rng = np.random.default_rng(trial.number)
        return (x - 0.4) ** 2 + (0.02 + 0.2 * x) * rng.standard_normal()

    found.optimize(objective, n_trials=20)
    return found


def served(study):
    """What the dashboard itself hands to its page."""
    application = dashboard.wsgi(study._storage)
    answered = []
    environment = {
        "REQUEST_METHOD": "GET", "PATH_INFO": f"/api/studies/{study._study_id}",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.url_scheme": "http",
        "QUERY_STRING": "", "CONTENT_TYPE": "application/json",
    }  # fmt: skip
    body = application(environment, lambda status, headers, *rest: answered.append(status))
    found = json.loads(b"".join(body))
    assert answered == ["200 OK"]
    return found


def test_the_dashboard_serves_our_figures_and_our_note(study):
    dashboard.save_note(study, "Mine.")
    publish(study, risk=rahbo.MeanVariance(2.0))
    page = served(study)
    graphs = {
        graph["id"]: json.loads(graph["graph_object"]) for graph in page["plotly_graph_objects"]
    }
    assert graphs.keys() == {"rahbo-noise", "rahbo-history"}
    noise = {trace["name"]: trace for trace in graphs["rahbo-noise"]["data"]}
    assert len(noise["evaluated"]["x"]) == 20
    found = rahbo.integrations.optuna.recommend(study, risk=rahbo.MeanVariance(2.0))
    assert noise["recommended"]["y"] == pytest.approx([found.mean], rel=1e-4)
    assert graphs["rahbo-history"]["data"][0]["y"] == pytest.approx(
        [trial.value for trial in study.trials], rel=1e-4
    )
    note = page["note"]["body"]
    assert note.startswith("Mine.\n\n## Risk-averse recommendation (rahbo)")
    assert str(found).splitlines()[1] in note


def test_again_it_replaces_what_it_wrote_and_nothing_else(study):
    publish(study)
    dashboard.save_note(study, f"Before.\n\n{dashboard.get_note(study)}\n\nAfter.")
    publish(study, risk=rahbo.MeanVariance(0.0))
    note = dashboard.get_note(study)
    assert note.startswith("Before.\n\n## Risk")
    assert note.endswith("rahbo wrote.*\n\nAfter.")
    assert note.count("## Risk-averse") == 1
    assert len(served(study)["plotly_graph_objects"]) == 2


def test_names_of_the_user_are_no_markup(study):
    publish(study)
    text = "".join(graph["graph_object"] for graph in served(study)["plotly_graph_objects"])
    assert "<img" not in text
    assert "&lt;img" in text
    note = dashboard.get_note(study)
    fence = "````"
    assert note.count(fence) == 2
    outside = note.split(fence)[0] + note.split(fence)[2]
    assert "<img" not in outside


def test_a_conditional_study_says_what_was_compared(study):
    study.add_trial(
        optuna.trial.create_trial(
            params={"x": 0.4, "y": 0.5},
            distributions=dict.fromkeys("xy", optuna.distributions.FloatDistribution(0.0, 1.0)),
            value=0.3,
        )
    )
    publish(study)
    note = dashboard.get_note(study)
    assert note.count("Only the settings that were tried are compared, because some trials") == 1
    assert "'y' in trial 0 and 19 others" in note


def test_a_study_with_nothing_to_show_is_refused_and_left_alone():
    study = optuna.create_study()
    with pytest.raises(NotReadyError):
        publish(study)
    assert dashboard.get_note(study) == ""


def test_without_the_dashboard_it_says_what_to_install(study, monkeypatch):
    monkeypatch.delitem(sys.modules, "rahbo.integrations.optuna.dashboard", raising=False)
    monkeypatch.delattr(rahbo.integrations.optuna, "dashboard", raising=False)
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    with pytest.raises(SettingsError, match=r"pip install .rahbo\[optuna,dashboard\]"):
        publish(study)
