// The ground under a recorded run.

import { assert, frames, onPage, until } from "./browser.mjs";

await onPage(process.argv[2], async (page) => {
  await frames(page, 2);
  await page.keyboard.press("Space");
  const lowest = () => page.evaluate(() => window.supple.lowest);
  const seek = page.getByLabel("Frame", { exact: true });
  await seek.focus();
  const heights = [];
  for (const [key, place] of [["Home", 0], ["End", 12]]) {
    await page.keyboard.press(key);
    await until(page, (place) => window.supple.frame.place === place, place);
    const [ground, body] = [await page.evaluate(() => window.supple.ground), await lowest()];
    assert.ok(ground <= body + 1e-6, `the ground at ${ground} is not above the body at ${body}`);
    heights.push(body);
  }
  const ground = await page.evaluate(() => window.supple.ground);
  assert.ok(heights[1] < heights[0] - 0.05, "the cloth falls");
  assert.ok(ground > heights[1] - 0.1, `the ground at ${ground} is near the body at ${heights[1]}`);
  // Unavailable colourings explain why.
  await page.getByText("A recorded run has no stress and no hierarchy").waitFor();
});
