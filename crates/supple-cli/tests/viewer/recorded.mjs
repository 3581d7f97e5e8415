// Interaction with a finished run.

import { assert, coloursAt, frames, onPage, until, vertex } from "./browser.mjs";

await onPage(process.argv[2], async (page) => {
  await frames(page, 2);
  assert.equal(await page.locator("#badge").textContent(), "recorded run");
  const seek = page.getByLabel("Frame", { exact: true });
  assert.equal(await seek.getAttribute("max"), "12");
  await seek.focus();
  await page.keyboard.press("Home");
  await until(page, () => window.supple.frame.place === 0);
  const start = await vertex(page, 0);
  await page.keyboard.press("End");
  await until(page, () => window.supple.frame.place === 12);
  const end = await vertex(page, 0);
  assert.ok(end.position[1] < start.position[1] - 0.01, "the cloth has fallen");
  for (let place = 11; place >= 6; place--) {
    await page.keyboard.press("ArrowLeft");
    await until(page, (place) => window.supple.frame.place === place, place);
  }
  assert.match(await page.locator("#time").textContent(), /frame 6 · 0\.20 s/);
  const [corner, middle] = await coloursAt(page, [{ x: 5, y: 5 }, await vertex(page, 70)]);
  assert.notDeepEqual(corner, middle);
  await page.locator("#stage").focus();
  await page.keyboard.press("Space");
  await frames(page, 3);
});
