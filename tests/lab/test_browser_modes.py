"""The modes beyond a single fit: third features, test points, generators, thresholds, influence, paths; and lessons."""

import lab_pages
import pytest
from lab_pages import badge, choose, evaluate, opened, send, until

browser, lab, page = lab_pages.browser, lab_pages.lab, lab_pages.page

LESSONS = [
    "perceptron", "xor", "pocket", "least-squares", "descent", "ridge", "logistic", "separation", "discriminants",
    "bias-variance",
]  # fmt: skip


@pytest.mark.parametrize(("points", "feature"), [("xor", "xy"), ("circles", "radius")])
def test_a_third_feature_separates(page, points, feature):
    choose(page, "#preset", points)
    until(page, "lab.reply.preset === argument", points)
    assert badge(page) == "No line separates these classes"
    choose(page, "#features", feature)
    until(page, "lab.animation.lift === argument && !lab.session.busy && !lab.planned", feature)
    assert badge(page) == "A plane separates these classes"
    assert page.locator(".picture .separating").count() == 1
    assert page.locator(".plane .rings path").count() == 0
    curve = page.locator(".plane .boundary path").get_attribute("d")
    assert curve.count("M") > 20  # a curve of many pieces, not a line
    before = page.locator(".picture .separating").get_attribute("d")
    page.locator(".picture svg").first.hover()
    page.mouse.down()
    page.mouse.move(900, 300)
    page.mouse.up()
    assert page.locator(".picture .separating").get_attribute("d") != before


def test_test_points_are_hollow_and_both_errors_are_shown(page):
    send(page, do="choose_preset", name="curved")
    page.locator("#test-share").fill("0.25")
    until(page, "lab.reply.test.length === 6 && !lab.session.busy && !lab.planned")
    hollow = "[...document.querySelectorAll('#plot .point[data-test]')].map((one) => Number(one.dataset.index))"
    assert evaluate(page, hollow) == evaluate(page, "lab.reply.test")
    assert "and 6 test points" in page.locator("#metrics .figures caption").inner_text()
    assert page.locator("#metrics .figures thead th").all_text_contents() == ["metric", "training", "test"]
    assert page.locator(".more figcaption").first.inner_text() == "RMSE on training and test points"
    old = evaluate(page, "lab.reply.test.join()")
    page.click("#split-again")
    until(page, "lab.reply.test.join() !== argument", old)


def test_the_generator_draws_points_with_its_sliders(page):
    page.click("#generator summary")
    page.locator("#generator [data-name=n]").fill("120")
    until(page, "lab.state.points.length === 120")
    page.locator("#generator [data-name=share]").fill("0.2")
    until(page, "lab.state.points.filter((one) => one[2] === 1).length === 24 && !lab.session.busy")
    before = evaluate(page, "JSON.stringify(lab.state.points)")
    page.click("#draw-again")
    until(page, "lab.state.points.length === 120 && JSON.stringify(lab.state.points) !== argument", before)
    choose(page, "#generator [data-name=kind]", "line")
    until(page, "lab.state.algorithm === 'least_squares'")


def test_the_threshold_moves_the_boundary_the_matrix_and_the_point_on_the_roc_curve(page):
    choose(page, "#preset", "overlapping")
    until(page, "lab.state.algorithm === 'logistic' && !lab.session.busy && !lab.planned")
    look = """[document.querySelector('.plane .boundary path').getAttribute('d'),
        JSON.stringify(lab.details.confusion.counts), document.querySelector('#roc .at').getAttribute('cx')]"""
    before = evaluate(page, look)
    page.locator("#threshold").fill("0.1")
    until(page, "lab.state.threshold === 0.1 && !lab.session.busy && !lab.planned")
    after = evaluate(page, look)
    assert all(new != old for new, old in zip(after, before, strict=True))
    wrong = evaluate(page, "lab.details.confusion.counts.flat().filter((_, i) => i % 3).reduce((a, b) => a + b)")
    rings = page.locator(".plane .rings path").get_attribute("d").count("M")
    assert rings == wrong


@pytest.mark.parametrize(("points", "endless"), [("overlapping", 0), ("separable", 1)])
def test_the_loss_surface_has_both_paths(page, points, endless):
    send(page, do="choose_preset", name=points)
    send(page, do="choose_algorithm", name="logistic")
    picture = page.locator(".more figure", has_text="Loss over both weights")
    assert picture.locator("text", has_text="Newton").count() == 1
    assert picture.locator("text", has_text="gradient descent").count() == 1
    assert picture.locator("text", has_text="the loss has no minimum").count() == endless


def test_the_fit_without_a_point_is_drawn(page):
    choose(page, "#preset", "ruined")
    until(page, "lab.influence.shown() && !lab.planned")
    assert "Without it the slope is" in page.locator("#verdict .influence").inner_text()
    assert "without this point" in page.locator("#plot .label").all_text_contents()
    strongest = page.locator("#verdict .influence").inner_text()
    evaluate(page, "lab.pointerInput.select(0)")
    until(
        page,
        "document.querySelector('#verdict .influence')?.textContent !== argument && lab.influence.shown()",
        strongest,
    )


def test_novikoffs_curves_enclose_the_weights(page):
    picture = page.locator(".more figure", has_text="Novikoff")
    names = picture.locator("text").all_text_contents()
    assert {"√t·R", "‖w‖", "t·γ"} <= set(names)
    choose(page, "#preset", "xor")
    until(page, "lab.reply.preset === 'xor' && !lab.planned")
    assert page.locator(".more figure", has_text="Novikoff").count() == 0


def test_the_lasso_path_has_its_knots(page):
    send(page, do="choose_preset", name="curved")
    send(page, do="choose_algorithm", name="lasso")
    assert page.locator(".evidence .knot").count() == evaluate(page, "lab.animation.picture.knots.length") > 3
    assert "chosen" in page.locator("#track").text_content()


# --- lessons and the lecture view


def test_lessons_from_the_first_to_the_last(browser, lab):
    with opened(browser, lab.url, reduced_motion="reduce") as page:
        page.click("#lessons")
        for k, name in enumerate(LESSONS):
            until(page, "lab.lessons.index === argument && lab.lessons.answered === null && !lab.session.busy", k)
            lesson = evaluate(page, "lab.lessons.list[lab.lessons.index]")
            assert lesson["name"] == name
            assert page.locator(".lesson h2").inner_text() == f"{k + 1} of 10 · {lesson['title']}"
            if lesson["play"] == "start":
                assert evaluate(page, "lab.frame") == 0
            assert evaluate(page, "[...lab.layers.hidden]") == lesson.get("hide", [])
            # Nothing that answers the question is shown: no numbers, no timeline, no line of a fit in one step.
            parts = ("#verdict", "#metrics", "#where", "#track svg")
            assert not [one for one in parts if page.locator(one).is_visible()]
            if lesson["play"] == "none":
                assert page.locator("#plot").is_visible()
                assert page.locator(".boundary path, .curve path, .walk path").count() == 0
            page.locator(".choice").nth(lesson["right"] if k % 2 else (lesson["right"] + 1) % 3).click()
            told = page.locator(".lesson .answer").inner_text()
            assert told == ("Right. " if k % 2 else "Not quite. ") + lesson["answer"]
            assert evaluate(page, "lab.layers.hidden.size") == 0
            assert page.locator("#verdict").is_visible()
            if lesson["play"] == "start":
                until(page, "lab.frame > 0")
            page.click("#lesson-next")
        until(page, "lab.lessons.index === null")
        assert not page.locator(".lesson").is_visible()


def test_influence_of_a_scene_that_is_left_is_not_requested(browser, lab):
    """The page complains of refused requests; `opened` raises if it does."""
    with opened(browser, lab.url, reduced_motion="reduce") as page:
        until(page, "!lab.session.busy")
        # The second message is queued before the reply to the first, which asks for the influence of a point.
        page.evaluate(
            """() => {
                const { lab } = document.querySelector("#linearly-lab");
                lab.send({ do: "choose_lesson", name: "least-squares" });
                lab.send({ do: "choose_lesson", name: "xor" });
            }"""
        )
        until(page, "lab.reply.preset === 'xor' && !lab.session.busy")


def test_the_lecture_view_folds_the_panels_and_enlarges_the_type(browser, lab):
    with opened(browser, lab.url, viewport={"width": 1920, "height": 1080}) as page:
        before = evaluate(page, "lab.unit")
        page.keyboard.press("l")
        until(page, "lab.root.dataset.lecture && !lab.planned")
        assert not page.locator(".controls").is_visible()
        assert not page.locator(".evidence").is_visible()
        assert evaluate(page, "lab.unit") > 1.3 * before
        assert page.locator(".lecture-words").inner_text() == evaluate(page, "lab.details.words")
        page.click("#panels")
        until(page, "!lab.root.dataset.lecture")
        assert page.locator(".controls").is_visible()
