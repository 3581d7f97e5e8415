// The inside of a solid: its cells on a slice, and stress.

import { assert, coloursAt, distance, frames, onPage, until } from "./browser.mjs";

const [address, kind, option] = process.argv.slice(2);

/** The middle of the sliced cell nearest to the middle of all of them. */
function middleCell(page) {
  return page.evaluate(() => {
    const { cells } = window.supple.levels[0];
    const middles = [];
    for (let i = 0; i < cells.length; i += 12) {
      middles.push([0, 1, 2].map((k) => (cells[i + k] + cells[i + 3 + k] + cells[i + 6 + k] + cells[i + 9 + k]) / 4));
    }
    const centre = [0, 1, 2].map((k) => middles.reduce((sum, p) => sum + p[k], 0) / middles.length);
    const far = (p) => Math.hypot(...p.map((c, k) => c - centre[k]));
    const nearest = middles.reduce((a, b) => (far(b) < far(a) ? b : a));
    return { ...window.supple.place(nearest), position: nearest };
  });
}

await onPage(address, async (page) => {
  await frames(page, 1);
  await page.keyboard.press("Space");
  await until(page, () => window.supple.state.running === false);
  await page.keyboard.press(".");
  await until(page, () => window.supple.frame.step >= 1);

  // The method's own options are there.
  await page.getByText("Solver details").click();
  await page.getByLabel(option, { exact: true }).first().waitFor();

  // The slice: its kinds have names, and the body is open there.
  await page.getByRole("tab", { name: "Look" }).click();
  await page.getByText("Hierarchy", { exact: true }).click();
  await until(page, () => window.supple.levels.length > 1 && window.supple.levels[0].kindOfCell.length > 0);
  await page.locator("#kinds li").filter({ hasText: kind }).first().waitFor();
  const seen = await middleCell(page);
  const [before] = await coloursAt(page, [seen]);
  const keys = await page.evaluate(() => [...document.querySelectorAll("#kinds li")].map((item) => {
    const key = item.style.getPropertyValue("--key");
    return [1, 3, 5].map((at) => parseInt(key.slice(at, at + 2), 16));
  }));
  assert.ok(keys.some((key) => distance(key, before) < 12), `${before} is a colour of the legend: ${keys}`);

  // It follows the slider.
  await page.locator("#slice-share").fill("15");
  await until(page, (z) => {
    const { cells } = window.supple.levels[0];
    return cells.length > 0 && cells[2] < z - 0.1;
  }, seen.position[2]);

  // Without it the body is closed, and another colour is there.
  await page.getByText("Bodies", { exact: true }).click();
  assert.ok(await page.locator("#kinds").isHidden());
  const [after] = await coloursAt(page, [seen]);
  assert.ok(distance(before, after) > 12, `${before} on the slice, ${after} on the body`);

  // Stress has a scale with a unit.
  await page.getByText("Stress", { exact: true }).click();
  await until(page, () => window.supple.stress?.most > 0);
  await page.locator("#legend-labels li").filter({ hasText: /Pa$/ }).first().waitFor();

  // Explanations can be read without hovering.
  await page.getByRole("tab", { name: "Change" }).click();
  const help = page.locator(".help").filter({ hasText: "residual" }).first();
  assert.ok(await help.isHidden());
  await page.getByText("Explain the controls").click();
  assert.ok(await help.isVisible());
  const described = await page.evaluate(() =>
    [...document.querySelectorAll("[data-path]")].map((input) => document.getElementById(input.getAttribute("aria-describedby"))?.textContent),
  );
  assert.ok(described.length > 0 && described.every(Boolean), `every input has its explanation: ${described}`);

  // A phone on its side: the open panel leaves more than half of the stage, a closed one all of it.
  await page.setViewportSize({ width: 740, height: 360 });
  const panel = await page.locator("#panel").boundingBox();
  assert.ok(panel.width < 0.5 * 740, `the panel is ${panel.width} wide`);
  const transport = await page.locator("#transport").boundingBox();
  assert.ok(transport.x + transport.width <= panel.x, "the clock is next to the panel");
});
