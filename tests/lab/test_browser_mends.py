"""What viewers stumbled over in a lecture: sizes, keys, selections, links, fingers, words."""

import lab_pages
import pytest
from lab_pages import badge, choose, click, evaluate, opened, place, send, settled, until

browser, lab, page = lab_pages.browser, lab_pages.lab, lab_pages.page

PROJECTOR = {"width": 1920, "height": 1080}


def spread(page):
    """Width and height that the points take of the plane, and the size of a point."""
    script = """() => {
        const boxes = [...document.querySelectorAll('#plot .point')].map((one) => one.getBoundingClientRect());
        const reach = (side) => Math.max(...boxes.map((b) => b[side])) - Math.min(...boxes.map((b) => b[side]));
        return [reach('x'), reach('y'), boxes[0].width];
    }"""
    return page.evaluate(script)


def test_points_fill_the_plane_after_the_window_is_enlarged(browser, lab):
    with opened(browser, lab.url, viewport=PROJECTOR) as page:
        wanted = spread(page)
    with opened(browser, lab.url, viewport={"width": 420, "height": 700}) as page:
        page.set_viewport_size(PROJECTOR)
        until(page, "lab.main.width > 1000 && !lab.session.busy && !lab.planned")
        assert spread(page) == pytest.approx(wanted, rel=0.05)


def test_a_view_chosen_by_the_viewer_survives_a_resize(page):
    evaluate(page, "lab.pointerInput.look([-1, 1, -1, 1])")
    page.set_viewport_size(PROJECTOR)
    until(page, "lab.main.width > 1000 && !lab.session.busy && !lab.planned")
    assert evaluate(page, "lab.base") == [-1, 1, -1, 1]


def test_keys_work_before_anything_has_been_clicked(page):
    choose(page, "#preset", "xor")
    until(page, "lab.animation.count > 100")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press(",")
    until(page, "lab.frame === lab.animation.count - 2")
    page.keyboard.press("2")
    until(page, "lab.label === 1")


def test_a_preset_clears_the_selection(page):
    click(page, *evaluate(page, "lab.state.points[3]")[:2])
    until(page, "lab.selected === 3")
    choose(page, "#preset", "xor")
    until(page, "lab.reply.preset === 'xor' && lab.selected === null")
    settled(page, "() => !document.querySelector('#plot .selection')")


def test_the_selection_is_not_part_of_the_picture(page, tmp_path):
    def saved():
        with page.expect_download() as download:
            page.click("#svg")
        download.value.save_as(tmp_path / "plane.svg")
        return (tmp_path / "plane.svg").read_text()

    before = saved()
    click(page, *evaluate(page, "lab.state.points[3]")[:2])
    settled(page, "() => document.querySelector('#plot .selection')")
    assert saved() == before
    assert page.locator("#plot .selection").count() == 1


def test_a_copied_state_holds_no_address_and_can_be_pasted(browser, lab):
    with opened(browser, lab.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        choose(page, "#preset", "three")
        until(page, "lab.reply.preset === 'three'")
        assert page.locator("#share").inner_text() == "Copy state"
        page.click("#share")
        settled(page, "() => document.querySelector('.notice').textContent.includes('state is copied')")
        text = page.evaluate("() => navigator.clipboard.readText()")
        assert text.startswith("#")
        assert lab.token not in text
        assert str(lab.port) not in text
        choose(page, "#preset", "xor")
        until(page, "lab.reply.preset === 'xor'")
        page.keyboard.press("Control+v")
        until(page, "lab.state.algorithm === 'lda' && lab.state.points.length === 90")


def test_a_finger_scrolls_the_page_and_drags_points(browser, lab):
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
    with opened(browser, lab.url, **phone) as page:
        touch = page.context.new_cdp_session(page)

        def swipe(start, end):
            middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
            for kind, at in (("Start", start), ("Move", middle), ("Move", end), ("End", None)):
                points = [] if at is None else [{"x": at[0], "y": at[1]}]
                touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

        view, n = evaluate(page, "lab.main.view"), evaluate(page, "lab.state.points.length")
        free = place(page, *evaluate(page, "[lab.main.view[0], lab.main.view[3]]"))
        swipe([free[0] + 30, free[1] + 60], [free[0] + 180, free[1] + 66])
        assert evaluate(page, "lab.main.view") == view
        x, y, _ = evaluate(page, "lab.state.points[0]")
        at = place(page, x, y)
        swipe(at, [at[0] + 25, at[1] + 40])
        until(page, "Math.abs(lab.state.points[0][0] - argument) > 0.01 && !lab.session.busy", x)
        assert evaluate(page, "lab.state.points.length") == n
        small = """() => [...document.querySelectorAll('button, select, summary, .file, input[type=range]')]
            .map((one) => [one.id || one.className || one.textContent, one.getBoundingClientRect()])
            .filter(([, box]) => box.width && box.height < 43.5).map(([name]) => name)"""
        assert page.evaluate(small) == []


def test_show_all_brings_the_points_back(page):
    view = evaluate(page, "lab.main.view")
    assert not page.locator(".show-all").is_visible()
    evaluate(page, "lab.pointerInput.look([100, 104, 100, 103])")
    page.locator(".show-all").click()
    until(page, "lab.fitted && !lab.planned")
    assert evaluate(page, "lab.main.view") == pytest.approx(view)
    assert not page.locator(".show-all").is_visible()


def test_keyboard_moves_are_announced(page):
    page.focus("#plot")
    page.keyboard.press("ArrowRight")
    settled(page, "() => document.querySelector('.said').textContent.startsWith('Cursor at')")
    page.keyboard.press("Escape")
    page.keyboard.press("]")
    page.keyboard.press("ArrowUp")
    settled(page, "() => document.querySelector('.said').textContent.startsWith('Point 1 at')")
    page.keyboard.press("f")
    settled(page, "() => document.querySelector('.said').textContent === 'The point is now orange.'")


def test_headings_captions_positive_class_and_training_points_are_named(page):
    assert page.locator("h1").inner_text() == "linearly lab"
    choose(page, "#preset", "ellipses")
    until(page, "lab.state.algorithm === 'qda'")
    settled(page, "() => document.querySelector('#terms caption').textContent === 'Class means'")
    assert (
        page.locator("#metrics .figures caption").inner_text() == "On the 90 training points, positive class “orange”"
    )
    assert page.locator("table:not(:has(caption))").count() == 0


def test_an_error_goes_away_with_the_next_success(browser, lab):
    with opened(browser, lab.url, refused=True) as page:
        send(page, do="choose_preset", name="nothing")
        settled(page, "() => document.querySelector('.notice').dataset.shown === 'true'")
        choose(page, "#preset", "xor")
        settled(page, "() => document.querySelector('.notice').dataset.shown === 'false'")


def test_undo_keeps_the_name_of_the_preset(page):
    choose(page, "#preset", "xor")
    until(page, "lab.reply.preset === 'xor'")
    click(page, 0, 0)
    until(page, "lab.reply.preset === ''")
    page.click("#undo")
    until(page, "lab.reply.preset === 'xor'")
    assert page.locator("#preset").input_value() == "xor"


# --- labels and layers


def labels(page):
    return sorted(set(page.locator("#plot .label").all_text_contents()))


def test_every_line_and_ring_has_its_name(page):
    choose(page, "#preset", "outlier")
    until(page, "lab.state.algorithm === 'pocket'")
    evaluate(page, "lab.seek(30)")
    until(page, "lab.details.at === 30 && !lab.planned")
    assert labels(page) == ["before", "in both hulls", "in the pocket", "now", "witness"]
    choose(page, "#preset", "separable")
    until(page, "lab.state.algorithm === 'perceptron'")
    assert "widest margin" in labels(page)


@pytest.mark.parametrize(
    ("points", "name", "layer", "mark"),
    [
        ("xor", "perceptron", "proof", ".plane .hull, #verdict .badge"),
        ("separable", "perceptron", "margin", ".plane .margin"),
        ("cloud", "least_squares", "squares", ".plane .squares path"),
        ("overlapping", "logistic", "probability", ".plane canvas[data-used]"),
        ("overlapping", "lda", "errors", ".plane .rings path"),
        ("three", "lda", "ellipses", ".plane .gaussians path"),
        ("separable", "perceptron", "labels", "#plot .label"),
    ],
)
def test_a_layer_can_be_hidden_and_shown(page, points, name, layer, mark):
    send(page, do="choose_preset", name=points)
    send(page, do="choose_algorithm", name=name)
    assert page.locator(mark).count() > 0
    page.click("#layers summary")
    box = page.locator(f"[data-layer={layer}]")
    box.uncheck()
    until(page, "!document.querySelector(argument)", mark)
    box.check()
    until(page, "document.querySelector(argument)", mark)


def test_verdict_is_hidden_from_the_reset_to_the_first_step(page):
    assert badge(page) == "A line separates these classes"
    first = page.locator("#verdict > *").first
    assert first.get_attribute("class") == "words"
    page.click("#reset")
    until(page, "lab.details.at === 0 && !document.querySelector('#verdict .badge')")
    assert page.locator(".plane .margin").count() == 0
    page.click("#step")
    until(page, "document.querySelector('#verdict .badge') && document.querySelector('.plane .margin')")


# --- motion

MOTION = """async () => {
    const { lab } = document.querySelector('.linearly-lab'), seen = new Set();
    lab.seek(5);
    while (lab.session.busy || lab.planned) await new Promise(requestAnimationFrame);
    lab.seek(6);
    const d = () => document.querySelector('.plane .boundary path').getAttribute('d'), began = performance.now();
    do {
        await new Promise(requestAnimationFrame);
        seen.add(d());
    } while (lab.planned || performance.now() - began < 60);
    return seen.size;
}"""


def test_lines_move_between_updates(page):
    assert page.evaluate(MOTION) > 2


def test_lines_jump_with_reduced_motion(browser, lab):
    with opened(browser, lab.url, reduced_motion="reduce") as page:
        assert page.evaluate(MOTION) == 1


def test_speeds_are_multiples(page):
    assert page.locator("#speed option").all_text_contents() == ["½×", "1×", "4×", "16×"]


def test_every_draw_of_bias_and_variance_adds_a_curve(page):
    choose(page, "#algorithm", "bias_variance")
    until(page, "lab.state.algorithm === 'bias_variance'")
    found = []
    for frame in (0, 7):
        evaluate(page, "lab.seek(argument)", frame)
        until(page, "lab.details.at === argument && !lab.planned", frame)
        found.append(page.locator(".plane .curve path").count())
    assert found == [2, 10]  # fits and the truth; with their mean from two fits on


def test_a_diverging_descent_stays_readable(page):
    send(page, do="choose_preset", name="cloud")
    send(page, do="choose_algorithm", name="gradient_descent")
    send(page, do="set_parameter", name="rate", value=2.2)
    evaluate(page, "lab.seek(14)")
    settled(page, "() => document.querySelector('.off-screen')?.textContent === 'fit is off-screen ↓'")
    tall = """() => {
        const high = document.querySelector('#plot').getBoundingClientRect().height;
        return [...document.querySelectorAll('.plane .squares path')].every((one) => one.getBBox().height < high + 41);
    }"""
    assert page.evaluate(tall)


def test_curves_of_degree_twelve_are_smooth(page):
    send(page, do="choose_preset", name="curved")
    send(page, do="choose_algorithm", name="least_squares")
    send(page, do="set_parameter", name="degree", value=12)
    # No corner of the drawn curve stands out from its neighbours by a pixel where it is visible.
    script = """() => {
        const d = document.querySelector('.plane .curve path').getAttribute('d');
        const { lab } = document.querySelector('.linearly-lab');
        const at = d.slice(1).split('L').map((one) => one.split(' ').map(Number));
        let most = 0;
        for (let i = 1; i + 1 < at.length; i++) {
            if (at[i][1] < 0 || at[i][1] > lab.main.height) continue;
            const [[a, b], [c, d], [e, f]] = [at[i - 1], at[i], at[i + 1]];
            most = Math.max(most, Math.abs((e - a) * (d - b) - (f - b) * (c - a)) / Math.hypot(e - a, f - b));
        }
        return most;
    }"""
    assert page.evaluate(script) < 1


def test_boundaries_of_qda_meet_in_their_triple_point(page):
    send(page, do="choose_preset", name="three")
    send(page, do="choose_algorithm", name="qda")
    # Where two segments of different pairs end close to each other, they end in the same place.
    script = """() => {
        const d = document.querySelector('.plane .boundary path').getAttribute('d');
        const ends = d.split('M').slice(1).flatMap((one) => one.split('L')), seen = new Map();
        for (const end of ends) seen.set(end, (seen.get(end) || 0) + 1);
        const { lab } = document.querySelector('.linearly-lab'), { width, height } = lab.main;
        const loose = [...seen].filter(([, n]) => n === 1).map(([end]) => end.split(' ').map(Number))
            .filter(([x, y]) => x > 1 && y > 1 && x < width - 1 && y < height - 1);
        const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
        return loose.map((p) => Math.min(...loose.filter((q) => q !== p).map((q) => far(p, q))));
    }"""
    gaps = page.evaluate(script)
    assert len(gaps) >= 3
    assert max(gaps) < 1.0


def test_name_of_an_update_stays_on_the_plane_of_a_phone(browser, lab):
    script = """async (preset) => {
        const { lab } = document.querySelector(".linearly-lab"), found = [];
        await lab.send({ do: "choose_preset", name: preset });
        const last = Math.min(lab.animation.count, 60);
        for (let t = 1; t < last; t++) {
            lab.seek(t);
            await new Promise((done) => lab.root.addEventListener("linearly:drawn", done, { once: true }));
            const name = lab.main.svg.querySelector(".update-name"), plane = lab.main.svg.getBoundingClientRect();
            const box = name.getBoundingClientRect();
            const inside = box.left >= plane.left && box.right <= plane.right + 0.5;
            if (!inside || box.top < plane.top || box.bottom > plane.bottom) found.push([t, name.textContent]);
        }
        return [last - 1, found];
    }"""
    with opened(browser, lab.url, viewport={"width": 390, "height": 844}, reduced_motion="reduce") as page:
        for preset in ("separable", "xor", "outlier"):
            count, outside = page.evaluate(script, preset)
            assert count > 5
            assert outside == []


def test_squares_are_those_of_the_training_points(page):
    send(page, do="choose_preset", name="cloud")
    send(page, do="set_option", name="test_share", value=0.25)
    assert evaluate(page, "lab.reply.test.length") == 7
    settled(page, "() => document.querySelectorAll('.plane .squares path').length === 21")
    assert "The sum of the 21 squares" in page.locator("#verdict .words").inner_text()
