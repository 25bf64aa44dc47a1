import re

from rahbo.pages.frame import asset, page, served

LAB = ("lab/next.html", "watch/live.html", "lab/recorded.html")
PAGES = {
    "watch": (("watch/live.html", "watch/tables.html"), ("common.js", "watch/watch.js")),
    "study": (LAB, ("common.js", "watch/watch.js", "lab/lab.js")),
    "overview": (("lab/overview.html",), ("common.js", "lab/overview.js")),
}
# Elements that scripts make, or look for only where they are.
MADE = {"lab-value", "lab-note", "lab-block", "lab-own-0", "lab-own-repeats"}
OF_WATCH = set(re.findall(r'id="([^"]+)"', asset("watch/tables.html").decode()))


def test_every_element_that_a_script_looks_for_is_there_once():
    for name, (parts, scripts) in PAGES.items():
        ids = re.findall(r'id="([^"]+)"', page("rahbo x", parts, scripts).body.decode())
        assert len(ids) == len(set(ids))
        for script in scripts:
            wanted = set(re.findall(r'\b(?:at|say|notice)\("([\w-]+)"', asset(script).decode()))
            assert wanted - MADE - (set() if name == "watch" else OF_WATCH) <= set(ids)


def test_a_page_has_its_parts_in_order_and_its_files_where_they_lie():
    text = page("rahbo lab", LAB, ("style.css", "lab/lab.js"), "../../", "Later.").body.decode()
    places = [text.index(f'id="{name}"') for name in ("lab-form", "recommended", "lab-told")]
    assert places == sorted(places)
    for part in ('data-root="../../"', 'src="../../lab.js"', 'href="../../style.css"',
                 "no longer answers. Later.", 'data-command="rahbo lab"'):  # fmt: skip
        assert text.count(part) == 1
    assert "$" not in text


def test_files_are_served_by_their_names():
    files = served(["style.css", "lab/lab.js"])
    assert {path: answer.kind for path, answer in files.items()} == {
        "/style.css": "text/css; charset=utf-8",
        "/lab.js": "text/javascript; charset=utf-8",
    }
    assert files["/lab.js"].body == asset("lab/lab.js")
