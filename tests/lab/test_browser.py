"""The lab in a real browser: points, steps of an animation, files, links, pictures, and a notebook's cell."""

import json
import threading

import lab_pages
import pytest
from conftest import require
from lab_pages import badge, choose, click, count, opened, place, rest, settled, wait_until_link_contains_the_state
from lab_sessions import PETS_CSV

browser, lab, page = lab_pages.browser, lab_pages.lab, lab_pages.page


def test_points_by_clicking_and_a_perceptron_by_steps(page):
    page.click("#clear")
    settled(page, "() => !document.querySelector('#plot .point')")
    assert "two colours" in page.locator("#verdict").inner_text()
    for k, (x, y) in enumerate([(-3, 2), (-2, 1), (-2.5, -1), (-1, 2.5)]):
        click(page, x, y)
        settled(page, "n => document.querySelectorAll('#plot .point').length === n", k + 1)
    page.locator(".swatches button").nth(1).click()
    for k, (x, y) in enumerate([(2, 1), (3, -1), (1.5, -2), (0.5, -0.5)]):
        click(page, x, y)
        settled(page, "n => document.querySelectorAll('#plot .point').length === n", k + 5)
    assert badge(page) == "A line separates these classes"
    page.click("#reset")
    settled(page, "() => document.querySelector('#where').textContent.startsWith('update 0 ')")
    steps = 0
    while page.locator("#step").is_enabled():
        page.click("#step")
        steps += 1
        settled(page, "t => document.querySelector('#where').textContent.startsWith(`update ${t} `)", steps)
    assert steps > 0
    settled(page, "() => document.querySelector('#verdict').textContent.includes('misclassifies 0 of 8 points')")
    assert "100" in page.locator("#metrics").inner_text() or "1.000" in page.locator("#metrics").inner_text()
    assert "ly.Perceptron" in page.locator("#code").text_content()


def test_a_drag_breaks_separability_and_moves_the_witness(page):
    assert badge(page) == "A line separates these classes"
    points = page.evaluate("() => document.querySelector('.linearly-lab').lab.state.points")
    index = next(i for i, point in enumerate(points) if point[2] == 1)
    blues = [point for point in points if point[2] == 0]
    home = place(page, *points[index][:2])
    deep = place(page, sum(p[0] for p in blues) / len(blues), sum(p[1] for p in blues) / len(blues))
    page.mouse.move(*home)
    page.mouse.down()
    for k in range(1, 9):
        page.mouse.move(home[0] + (deep[0] - home[0]) * k / 8, home[1] + (deep[1] - home[1]) * k / 8)
    page.mouse.up()
    settled(page, "() => document.querySelector('#verdict .badge').dataset.kind === 'overlapping'")
    settled(page, "() => document.querySelector('.plane .meeting')")
    assert page.locator(".plane .hull").count() >= 1
    proof = page.locator("#verdict .proof").inner_text()
    assert str(index) in proof
    page.keyboard.press("Control+z")
    settled(page, "() => document.querySelector('#verdict .badge').dataset.kind === 'separable'")
    assert page.locator(".plane .meeting").count() == 0


def test_flip_delete_and_the_keyboard(page):
    before = count(page)
    points = page.evaluate("() => document.querySelector('.linearly-lab').lab.state.points")
    page.keyboard.down("Shift")
    click(page, *points[0][:2])
    page.keyboard.up("Shift")
    settled(page, "() => document.querySelector('.linearly-lab').lab.state.points[0][2] === 1")
    click(page, *points[1][:2])
    page.keyboard.press("Delete")
    settled(page, "n => document.querySelectorAll('#plot .point').length === n", before - 1)
    page.focus("#plot")
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    settled(page, "n => document.querySelectorAll('#plot .point').length === n", before)
    assert page.evaluate("() => document.querySelector('.linearly-lab').lab.state.points.at(-1)[2]") == 1
    page.keyboard.press("]")
    page.keyboard.press("Shift+ArrowUp")
    first = page.evaluate("() => document.querySelector('.linearly-lab').lab.state.points[0]")
    settled(page, "y => document.querySelector('.linearly-lab').lab.state.points[0][1] > y", points[0][1])
    assert first[0] == points[0][0]


@pytest.mark.parametrize("name", ["logistic", "lda", "qda", "indicator", "voted", "averaged", "pocket", "batch"])
def test_every_classifier_is_drawn(page, name):
    choose(page, "#preset", "three")
    choose(page, "#algorithm", name)
    settled(page, "name => document.querySelector('.linearly-lab').lab.state.algorithm === name", name)
    settled(page, "() => document.querySelectorAll('#metrics .confusion tbody tr').length === 3")
    shaded = "expected => Boolean(document.querySelector('.plane canvas').dataset.used) === expected"
    settled(page, shaded, name in ("logistic", "lda", "qda", "voted"))


@pytest.mark.parametrize("name", ["least_squares", "gradient_descent", "ridge", "bias_variance"])
def test_every_curve_is_drawn(page, name):
    if name != "bias_variance":
        choose(page, "#preset", "cloud")
    choose(page, "#algorithm", name)
    if name != "bias_variance":
        settled(page, "() => document.querySelectorAll('.plane .squares path').length === 28")
    settled(page, "() => document.querySelector('.plane .curve path')")
    settled(page, "name => document.querySelector('.linearly-lab').lab.state.algorithm === name", name)


def test_a_csv_is_loaded_by_its_columns(page):
    page.set_input_files("#file", {"name": "pets.csv", "mimeType": "text/csv", "buffer": PETS_CSV.encode()})
    page.wait_for_selector("dialog[open]")
    page.select_option("#column-x", "height")
    page.select_option("#column-y", "weight")
    page.click("#load")
    settled(page, "() => document.querySelector('.linearly-lab').lab.state.names[0] === 'height'")
    settled(page, "() => document.querySelectorAll('#plot .point').length === 40")
    assert page.locator(".swatches button").count() == 2


def given(page, text):
    page.set_input_files("#file", {"name": "some.csv", "mimeType": "text/csv", "buffer": text.encode()})


def test_a_file_without_numbers_is_refused_in_words(browser, lab):
    with opened(browser, lab.url, refused=True) as page:
        given(page, "a,b\nu,v\nw,z\n")
        settled(page, "() => document.querySelector('.notice').textContent.includes('no numeric column')")
        assert not page.locator("dialog[open]").count()


def test_a_column_that_cannot_be_the_colour_is_named(page):
    given(page, "a,b,region\n" + "".join(f"{i},{i % 5},r{i % 9}\n" for i in range(40)))
    page.wait_for_selector("dialog[open]")
    assert "region has more" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")


def test_labels_in_numbers_leave_two_columns_for_the_plane(page):
    given(page, "x,label\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(20)))
    page.wait_for_selector("dialog[open]")
    page.click("#load")
    settled(page, "() => document.querySelector('.linearly-lab').lab.state.names.join() === 'x,label'")


def test_classes_with_names_have_a_legend(page):
    assert not page.locator("#plot .legend text").count()  # blue is called blue
    given(page, PETS_CSV)
    page.wait_for_selector("dialog[open]")
    page.click("#load")
    settled(page, "() => document.querySelectorAll('#plot .legend text').length === 2")
    assert page.locator("#plot .legend text").all_text_contents() == ["cat", "dog"]
    fills = "() => [...document.querySelectorAll('#plot .legend path')].map((one) => one.getAttribute('fill'))"
    drawn = "() => [...document.querySelectorAll('#plot .point')].slice(0, 2).map((one) => one.getAttribute('fill'))"
    assert page.evaluate(fills) == page.evaluate(drawn)[::-1]
    choose(page, "#algorithm", "least_squares")
    settled(page, "() => !document.querySelectorAll('#plot .legend text').length")


LONG = ["the_average_number_of_customers_per_week_in_the_north", "Total household income before taxes in thousands"]


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_leave_room_for_numbers(browser, lab, width):
    rows = "".join(f"{i % 7}.5,{i * 3 % 11},{'a long name of a class' if i % 2 else 'dog'}\n" for i in range(40))
    with opened(browser, lab.url, viewport={"width": width, "height": 800}) as page:
        given(page, f"{LONG[0]},{LONG[1]},kind\n{rows}")
        page.wait_for_selector("dialog[open]")
        page.click("#load")
        # One look at all of it, again until it holds: between two looks the page may draw its cells anew.
        script = """() => {
            const box = (one) => one.getBoundingClientRect();
            const cells = [...document.querySelectorAll('#terms td.n')];
            const legend = document.querySelector('.plane .legend rect');
            if (cells.length !== 3 || !legend) return false;
            const panel = box(document.querySelector('.evidence'));
            const boxes = [...document.querySelectorAll('.plane .grid text'), legend].map(box);
            const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
            return cells.every((cell) => box(cell).right <= panel.right) &&
                boxes.every((a, i) => boxes.slice(0, i).every((b) => apart(a, b)));
        }"""
        settled(page, script)


@pytest.mark.parametrize("points", ["overlapping", "separable", "three"])
def test_narrow_planes_have_a_scale(browser, lab, points):
    with opened(browser, lab.url, viewport={"width": 390, "height": 800}) as page:
        choose(page, "#preset", points)
        choose(page, "#comparison", "qda")
        settled(page, "() => document.querySelectorAll('.plane').length === 2")
        planes = "axis => [...document.querySelectorAll('.plane')]"
        for axis in ("x", "y"):
            settled(page, planes + ".every((one) => one.querySelectorAll(`.tick.${axis}`).length > 1)", axis)


@pytest.mark.parametrize("name", ["perceptron", "voted", "lda"])
def test_every_wrong_point_has_a_ring(page, name):
    choose(page, "#preset", "overlapping")
    choose(page, "#algorithm", name)
    settled(page, "name => document.querySelector('.linearly-lab').lab.state.algorithm === name", name)
    script = """() => {
        const { counts } = document.querySelector('.linearly-lab').lab.details.confusion;
        const wrong = counts.flat().reduce((a, b) => a + b) - counts.reduce((sum, row, i) => sum + row[i], 0);
        const rings = document.querySelector('.plane .rings path')?.getAttribute('d') ?? '';
        return wrong > 0 && rings.split('M').length - 1 === wrong;
    }"""
    settled(page, script)


def test_a_link_restores_the_state(browser, lab, page):
    choose(page, "#preset", "xor")
    choose(page, "#algorithm", "logistic")
    choose(page, "#comparison", "qda")
    settled(page, "() => document.querySelectorAll('.plane').length === 2")
    rest(page)  # the view follows the shape of the plane, which changes once the second plane is there
    page.click("#share")
    wait_until_link_contains_the_state(page)
    state = page.evaluate("() => document.querySelector('.linearly-lab').lab.state")
    with opened(browser, page.url) as other:
        settled(other, "() => document.querySelector('.linearly-lab').lab.state.comparison === 'qda'")
        view = json.dumps(state["view"], separators=(",", ":"))
        settled(other, f"() => JSON.stringify(document.querySelector('.linearly-lab').lab.state.view) === '{view}'")
        assert other.evaluate("() => document.querySelector('.linearly-lab').lab.state") == state
        assert other.locator(".plane").count() == 2


def test_play_runs_to_the_end_and_scrubbing_goes_back(page):
    choose(page, "#preset", "xor")
    settled(page, "() => document.querySelector('.linearly-lab').lab.animation.count > 100")
    choose(page, "#speed", "64")
    page.click("#play")
    settled(page, "() => document.querySelector('#play').title === 'Pause'")
    settled(page, "() => document.querySelector('#play').title === 'Play'")
    assert page.evaluate("() => document.querySelector('.linearly-lab').lab.atEnd")
    box = page.locator("#track").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    script = """() => {
        const { frame, animation } = document.querySelector('.linearly-lab').lab;
        return [frame, animation.count];
    }"""
    frame, frames = page.evaluate(script)
    assert 0.4 < frame / frames < 0.6
    page.focus("#track")
    page.keyboard.press("Home")
    settled(page, "() => document.querySelector('#where').textContent.startsWith('update 0 ')")


def both(page):
    """The frame that is drawn and the one that the panel speaks of, once nothing is on its way."""
    lab = "document.querySelector('.linearly-lab').lab"
    settled(page, f"() => !{lab}.session.busy && !{lab}.planned")
    return page.evaluate(f"() => [{lab}.frame, {lab}.details.at]")


@pytest.mark.parametrize(("box", "value"), [("#preset", "outlier"), ("#algorithm", "averaged"), ("#algorithm", "lda")])
def test_the_panel_speaks_of_the_frame_that_is_drawn(page, box, value):
    choose(page, "#preset", "xor")
    settled(page, "() => document.querySelector('.linearly-lab').lab.animation.count > 100")
    page.evaluate("() => document.querySelector('.linearly-lab').lab.seek(10)")
    settled(page, "() => document.querySelector('#verdict').textContent.includes('After 10 updates')")
    script = """([box, value]) => {
        const lab = document.querySelector('.linearly-lab').lab, chosen = document.querySelector(box);
        lab.before = lab.animation;
        chosen.value = value;
        chosen.dispatchEvent(new Event('change'));
        lab.seek(7);  // while the other animation is on its way
    }"""
    page.evaluate(script, [box, value])
    settled(
        page, "() => { const lab = document.querySelector('.linearly-lab').lab; return lab.animation !== lab.before; }"
    )
    drawn, said = both(page)
    assert drawn == said == page.evaluate("() => document.querySelector('.linearly-lab').lab.animation.count - 1")
    assert f"After {drawn} updates" in page.locator("#verdict").inner_text() or value == "lda"


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_is_saved(page, kind, tmp_path):
    choose(page, "#algorithm", "lda")
    settled(page, "() => document.querySelector('.plane canvas').dataset.used")
    with page.expect_download() as download:
        page.click(f"#{kind}")
    path = tmp_path / f"plane.{kind}"
    download.value.save_as(path)
    data = path.read_bytes()
    if kind == "svg":
        import xml.etree.ElementTree as tree

        root = tree.fromstring(data)
        assert root.tag.endswith("svg")
        assert data.count(b'class="point"') == 44
    else:
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000


@pytest.mark.parametrize("width", [360, 820, 1280, 1920])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_every_screen(browser, lab, width, theme):
    with opened(browser, lab.url, viewport={"width": width, "height": 800}, color_scheme=theme) as page:
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.evaluate("() => document.querySelector('.linearly-lab').dataset.theme") == theme
        plane = page.locator("#plot").bounding_box()
        assert plane["height"] > 250
        assert plane["width"] > (0.9 * width if width < 1080 else 0.45 * width)


def test_everything_to_press_has_a_name(page):
    script = """() => {
        const said = (one) => one.getAttribute('aria-label') || one.textContent.trim();
        const named = (one) => said(one) || one.closest('label')?.textContent.trim();
        const all = document.querySelectorAll('button, select, input, [role=slider], [tabindex="0"]');
        return [...all].filter((one) => !named(one)).map((one) => one.outerHTML.slice(0, 80));
    }"""
    assert page.evaluate(script) == []


def test_sliders_and_charts_are_named_as_they_are_read_out(page):
    choose(page, "#algorithm", "bias_variance")
    settled(page, "() => document.querySelector('.linearly-lab').lab.state.algorithm === 'bias_variance'")
    for name in ("Degree", "Noise σ", "Points per sample", "Random seed"):
        assert page.get_by_role("slider", name=name, exact=True).count() == 1
    assert page.get_by_role("img", name="Error against degree").count() == 1
    unnamed = (
        "() => [...document.querySelectorAll('svg[role=img]')].filter((one) => !one.getAttribute('aria-label')).length"
    )
    assert page.evaluate(unnamed) == 0


def test_figures_far_from_one_are_short(page):
    choose(page, "#preset", "cloud")
    choose(page, "#algorithm", "gradient_descent")
    settled(page, "() => document.querySelector('[data-name=rate]')")
    script = """() => {
        const lab = document.querySelector('.linearly-lab').lab, turn = { do: 'set_parameter' };
        lab.send({ ...turn, name: 'steps', value: 300 });
        lab.send({ ...turn, name: 'rate', value: 2.2 });
    }"""
    page.evaluate(script)
    settled(page, "() => /R²\\s*−\\d\\.\\d\\de\\d+/.test(document.querySelector('#metrics').textContent)")


def test_a_small_number_is_written_alike_in_the_sentence_and_below_it(page):
    choose(page, "#preset", "curved")
    choose(page, "#algorithm", "ridge")
    lab = "document.querySelector('.linearly-lab').lab"
    settled(page, f"() => {lab}.state.algorithm === 'ridge' && !{lab}.session.busy && !{lab}.session.waiting.size")
    page.click("#end")
    settled(page, "() => document.querySelector('#verdict .words').textContent.startsWith('λ = 1e−6')")
    # Asked in one go: the facts are drawn anew while the animation plays.
    facts = "[...document.querySelectorAll('.facts dd')]"
    assert page.evaluate(f"() => {facts}[0].textContent") == "1e−6"
    # The numbers stand in a row, however many lines their names have.
    assert page.evaluate(f"() => new Set({facts}.map(one => Math.round(one.getBoundingClientRect().y))).size") == 1


def test_the_widget_runs_in_a_notebooks_page(browser, tmp_path):
    """anywidget's contract: the module's `render` gets a model that sends to and hears from Python."""
    try:
        import anywidget  # noqa: F401
    except ImportError:
        require(False, "needs anywidget: pip install 'linearly[lab]'")
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    from linearly.lab.widget import LabWidget

    widget = LabWidget()
    sent = []
    widget.send = sent.append
    host = b"""<!doctype html><meta charset=utf-8><link rel=icon href=data:,><link rel=stylesheet href=widget.css>
<p>A cell above</p><div id=cell></div><script type=module>
import widget from "./widget.js";
const heard = [];
const model = { on: (name, f) => heard.push(f), off: () => {}, get: () => null, set: () => {}, save_changes: () => {},
  send: async (content) => {
    const reply = await fetch("comm", { method: "POST", body: JSON.stringify(content) }).then((r) => r.json());
    for (const f of heard) f(reply, []); } };
widget.render({ model, el: document.getElementById("cell") });
</script>"""
    files = {"/": (host, "text/html")}
    files |= {"/widget.js": (LabWidget._esm, "text/javascript"), "/widget.css": (LabWidget._css, "text/css")}

    class Kernel(BaseHTTPRequestHandler):
        def answer(self, body, kind):
            body = body if isinstance(body, bytes) else str(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.answer(*files[self.path])

        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            widget._on_message(widget, content, [])
            self.answer(json.dumps(sent.pop()), "application/json")

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Kernel) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with opened(browser, f"http://127.0.0.1:{server.server_port}/") as page:
            settled(page, "() => document.querySelectorAll('#plot .point').length === 44")
            page.select_option("#algorithm", "lda")
            settled(page, "() => document.querySelector('.plane canvas').dataset.used")
            assert widget.session.state.algorithm == "lda"
        server.shutdown()
