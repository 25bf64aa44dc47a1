import re

from rahbo.pages.lab.page import overview_page, study_page
from rahbo.pages.serving import asset


def test_the_page_of_a_study_is_the_live_page_and_more():
    page = study_page('"><script>').decode()
    assert 'content="&quot;&gt;&lt;script&gt;"' in page
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'id="([^"]+)"', asset("watch/watch.html").decode())) < set(ids)
    assert (
        page.index('id="lab-form"') < page.index('id="recommended"') < page.index('id="lab-told"')
    )
    for part in ('data-root="../../"', 'data-command="rahbo lab"', 'src="lab.js"', "lab.css"):
        assert page.count(part) == 1


def test_every_element_that_a_script_looks_for_is_there():
    for page, script in ((study_page("t"), "lab/lab.js"), (overview_page("t"), "lab/overview.js")):
        wanted = set(re.findall(r'\bat\("([\w-]+)"\)', asset(script).decode()))
        made = {"lab-value", "lab-note", "lab-block", "lab-own-0", "lab-own-repeats"}
        assert wanted - made <= set(re.findall(r'id="([^"]+)"', page.decode()))
