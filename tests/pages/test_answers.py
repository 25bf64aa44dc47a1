import json

from rahbo.pages.answers import HTTPStatus, RefusedError, json_answer, moved


def test_what_is_sent_as_json_is_escaped_and_has_its_status():
    answer = json_answer({"name": "</script>", "bound": float("inf")}, HTTPStatus.CONFLICT)
    assert json.loads(answer.body) == {"name": "</script>", "bound": None}
    assert b"<" not in answer.body
    assert (answer.kind, answer.status) == ("application/json", 409)


def test_another_page():
    assert moved("/a", {"X": "y"}).headers == {"Location": "/a", "X": "y"}
    assert RefusedError(HTTPStatus.GONE, "why").why == "why"
