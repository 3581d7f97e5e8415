// Contact pressure as colours, and vertices that are left out of contact: of a run that stored it, and of a running scene.

import { assert, coloursAt, distance, onPage, until } from "./browser.mjs";

const [address, mode] = process.argv.slice(2);
/** The frame in which the sheet is pinched. */
const PINCHED = 16;

/** Shows this frame or step. */
async function show(page, wanted) {
  if (mode === "recorded") {
    await page.locator("#seek").fill(String(wanted));
    return until(page, (wanted) => window.supple.frame.place === wanted, wanted);
  }
  for (let step = await page.evaluate(() => window.supple.frame.step); step < wanted; step++) {
    await page.keyboard.press(".");
    await until(page, (step) => window.supple.frame.step > step, step);
  }
}

await onPage(address, async (page) => {
  if (mode === "recorded") {
    await page.locator("#stage").focus();
    await page.keyboard.press("Space");
    await until(page, () => window.supple.state.running === false);
  }
  await show(page, 0);
  assert.ok(await page.locator("#released").isHidden(), "nothing is released at the start");

  // What has no room is named with its collider, and coloured whatever colours show.
  await page.locator("#stage").focus();
  await show(page, PINCHED);
  await until(page, () => window.supple.released.length > 0);
  const listed = await page.locator("#released-list li").first().textContent();
  assert.match(listed, /^\d+ of sheet with right$/);
  await page.getByLabel("Colliders").evaluate((box) => box.click());
  await page.getByRole("tab", { name: "Look" }).click();
  const seen = await page.evaluate(() => {
    const numbers = window.supple.released[0].vertices;
    const isReleased = new Set(numbers);
    const inner = numbers.find((v) => [v - 1, v + 1, v - 13, v + 13].every((other) => isReleased.has(other)));
    const position = window.supple.position(0, inner ?? numbers[0]);
    return { ...window.supple.place(position), count: numbers.length, inner };
  });
  assert.equal(Number(listed.split(" ")[0]), seen.count);
  assert.notEqual(seen.inner, undefined, "some vertex has released neighbours");
  await page.waitForTimeout(300);
  const isMagenta = ([r, g, b]) => r > g + 60 && b > g + 60;
  for (const colour of ["Bodies", "Stretch", "Contact"]) {
    await page.locator("#colour-choices").getByText(colour, { exact: true }).click();
    if (colour === "Contact") await until(page, () => window.supple.contact);
    await page.waitForTimeout(300);
    const [there] = await coloursAt(page, [seen]);
    assert.ok(isMagenta(there), `${colour}: ${there}`);
  }

  // The scale of contact has a unit, and somewhere something presses.
  await page.locator("#legend-labels li").filter({ hasText: /Pa$/ }).first().waitFor();
  assert.ok(await page.evaluate(() => Math.max(...window.supple.contact.pressure) > 0));

  // Earlier nothing touched: neither is shown any more.
  if (mode === "recorded") {
    await show(page, 1);
    await until(page, () => window.supple.contact.pressure.every((pressure) => pressure === 0));
    await page.locator("#released").waitFor({ state: "hidden" });
    const [there] = await coloursAt(page, [seen]);
    assert.ok(!isMagenta(there) || distance(there, [204, 20, 190]) > 60, `${there}`);
  }
});
