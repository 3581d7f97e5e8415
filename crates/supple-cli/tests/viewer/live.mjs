// Interaction with a running scene.

import { readFileSync } from "node:fs";
import { assert, coloursAt, distance, frames, onPage, until, vertex } from "./browser.mjs";

await onPage(process.argv[2], async (page) => {
  // Frames advance.
  const before = await page.evaluate(() => window.supple.frame.time);
  await frames(page, 3);
  assert.ok((await page.evaluate(() => window.supple.frame.time)) > before, "time advances");
  await page.locator("#pace").filter({ hasText: /\d× real time/ }).filter({ hasText: /\d m?s per step/ }).waitFor();
  assert.equal(await page.locator("#scene-name").textContent(), "hanging-cloth");
  assert.ok(await page.locator("#hint").isVisible(), "the hint tells a newcomer to drag");

  // Pause stops, a step advances by one, reset returns to the start.
  await page.keyboard.press("Space");
  await until(page, () => window.supple.state.running === false);
  await page.getByRole("button", { name: "Restart" }).click();
  await until(page, () => window.supple.frame.step === 0);
  await page.getByRole("button", { name: "One step" }).click();
  await until(page, () => window.supple.frame.step === 1);
  const count = await page.evaluate(() => window.supple.frame.step);
  assert.equal(count, 1, "one step");

  // The screenshot shows the body where it should be, and something else next to it.
  const middle = 84;
  const seen = await vertex(page, middle);
  const [body, beside] = await coloursAt(page, [seen, { x: 20, y: 750 }]);
  assert.ok(body[2] > body[0] + 25, `the cloth is blue: ${body}`);
  assert.ok(distance(body, beside) > 40, `the picture is not blank: ${body} and ${beside}`);

  // A vertex dragged by the mouse moves in the solver's state: the frame that comes back has it near the hand.
  await page.mouse.move(seen.x, seen.y);
  await page.mouse.down();
  await page.mouse.move(seen.x, seen.y - 60, { steps: 4 });
  await page.mouse.move(seen.x, seen.y - 120, { steps: 4 });
  await page.keyboard.press(".");
  await until(page, () => window.supple.frame.grabs.length === 1);
  // The hand's last movements may reach the solver some frames later than its first: each frame is compared with its own hand.
  let dragged, hand;
  for (let step = 0; step < 60; step++) {
    const known = await page.evaluate(() => window.supple.frame.step);
    await page.keyboard.press(".");
    await until(page, (known) => window.supple.frame.step > known, known);
    dragged = await vertex(page, middle);
    hand = await page.evaluate(() => window.supple.frame.grabs[0][1]);
    if (hand[1] > seen.position[1] + 0.1 && distance(dragged.position, hand) < 0.12) break;
  }
  assert.ok(distance(dragged.position, hand) < 0.12, `${dragged.position} follows ${hand}`);
  assert.ok(dragged.position[1] > seen.position[1] + 0.1, "it was lifted");
  await page.mouse.up();
  assert.ok(await page.locator("#hint").isHidden(), "the hint is gone after the first drag");
  await page.keyboard.press("r");
  await until(page, () => window.supple.frame.step === 0);

  // A click pins a vertex, a click on the pin releases it.
  assert.equal(await page.evaluate(() => window.supple.pins), 2);
  const other = await vertex(page, middle);
  await page.mouse.click(other.x, other.y);
  await until(page, () => window.supple.pins === 3);
  await page.mouse.click(other.x, other.y);
  await until(page, () => window.supple.pins === 2);

  // Another linear solver keeps the state, another stiffness too; both are in the saved scene.
  await page.keyboard.press(".");
  await until(page, () => window.supple.frame.step === 1);
  await page.getByText("Solver details").click();
  await page.getByLabel("Linear solver").selectOption("mas");
  await until(page, () => window.supple.state.solver === "newton+mas");
  assert.equal(await page.evaluate(() => window.supple.frame.step), 1, "the state is kept");
  const stiffness = page.getByLabel("Stretch stiffness", { exact: true });
  await stiffness.fill("222");
  await stiffness.press("Enter");
  await until(page, () => window.supple.state.controls.some((control) => control.value === 222));
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as scene file" }).click();
  const saved = readFileSync(await (await saving).path(), "utf8");
  assert.match(saved, /stretch_stiffness = 222/);
  assert.match(saved, /mas/);

  // Rejections are explained.
  await page.getByLabel("Tolerance", { exact: true }).fill("7");
  await page.getByLabel("Tolerance", { exact: true }).press("Enter");
  await page.locator(".toast.wrong").filter({ hasText: "tolerance" }).waitFor();
  const kept = await page.evaluate(() => window.supple.state.controls.find((control) => control.path === "solver.tolerance").value);
  assert.equal(Number(await page.getByLabel("Tolerance", { exact: true }).inputValue()), kept, "a rejected value does not stay in its field");

  // The hierarchy colours the body.
  await page.keyboard.press("Escape");
  await page.locator("#stage").focus();
  await page.keyboard.press(".");
  await until(page, () => window.supple.frame.step === 2);
  await page.getByRole("tab", { name: "Look" }).click();
  await page.getByText("Hierarchy", { exact: true }).click();
  await until(page, () => window.supple.levels.length > 0);
  await page.locator("#level option").first().waitFor({ state: "attached" });

  // Another discretisation restarts and reports it.
  await page.getByRole("tab", { name: "Change" }).click();
  await page.getByLabel("Method").selectOption("hpbd");
  await page.locator(".toast").filter({ hasText: "was restarted" }).waitFor();
  await until(page, () => window.supple.frame.step === 0);

  // Plots have something to show.
  await page.locator("#stage").focus();
  await page.keyboard.press("Space");
  await page.getByRole("tab", { name: "Plots" }).click();
  await frames(page, 3);
  assert.ok((await page.locator(".plot").count()) >= 5);
  await page.keyboard.press("Space");
});
