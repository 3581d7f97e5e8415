// Screenshots of the viewer's page: node docs/screenshot.mjs PROGRAM FOLDER [all]
// With `all` also dark, on a phone, and with every tab.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { frames, onPage, until, vertex } from "../crates/supple-cli/tests/viewer/browser.mjs";

const [program, folder, extent] = process.argv.slice(2);

async function withProgram(args, use) {
  const child = spawn(program, ["view", "--no-open", "--json", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await new Promise((resolve) => createInterface(child.stdout).once("line", (...line) => resolve(line)));
    await use(JSON.parse(line).address);
  } finally {
    child.kill("SIGKILL");
  }
}

const laptop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

async function steps(page, count) {
  for (let step = 0; step < count; step++) {
    const known = await page.evaluate(() => window.supple.frame.step);
    await page.keyboard.press(".");
    await until(page, (known) => window.supple.frame.step > known, known);
  }
}

/** Lets the cloth fall over the ball, then lifts a part of it by hand. */
async function lift(page) {
  await page.waitForFunction(() => window.supple.frame.time > 1.2, null, { timeout: 600000 });
  const decline = page.getByRole("button", { name: "Keep as it is" });
  if (await decline.isVisible()) await decline.click();
  await page.keyboard.press("Space");
  await until(page, () => window.supple.state.running === false);
  const seen = await vertex(page, 25 * 41 + 34);
  await page.mouse.move(seen.x, seen.y);
  await page.mouse.down();
  for (let part = 1; part <= 6; part++) {
    await page.mouse.move(seen.x + 10 * part, seen.y - 22 * part);
    await steps(page, 2);
  }
  await steps(page, 4);
  await page.evaluate(() => document.activeElement.blur());
}

await withProgram(["demo"], async (address) => {
  await onPage(address, async (page) => {
    await lift(page);
    await page.screenshot({ path: join(folder, "viewer.png") });
    await page.mouse.up();
    if (extent !== "all") return;
    await page.getByText("Solver details").click();
    await page.getByLabel("Linear solver").selectOption("galerkin");
    await until(page, () => window.supple.state.solver === "newton+galerkin");
    await page.locator("#stage").focus();
    await steps(page, 1);
    await page.getByRole("tab", { name: "Look" }).click();
    await page.getByText("Hierarchy", { exact: true }).click();
    await until(page, () => window.supple.levels.length > 0);
    await page.waitForTimeout(1500);
    await page.evaluate(() => document.activeElement.blur());
    await page.screenshot({ path: join(folder, "viewer-hierarchy.png") });
    await page.getByText("Stretch", { exact: true }).click();
    await page.getByRole("tab", { name: "Plots" }).click();
    await page.locator("#stage").focus();
    await page.keyboard.press("Space");
    await frames(page, 6);
    await page.keyboard.press("Space");
    await page.screenshot({ path: join(folder, "viewer-plots.png") });
    await page.keyboard.press("?");
    await page.screenshot({ path: join(folder, "viewer-help.png") });
  }, { ...laptop, colorScheme: "light" });
  if (extent !== "all") return;
  await onPage(address, async (page) => {
    await page.waitForTimeout(1500);
    await page.screenshot({ path: join(folder, "viewer-dark.png") });
  }, { ...laptop, colorScheme: "dark" });
  for (const colorScheme of ["light", "dark"]) {
    await onPage(address, async (page) => {
      await page.waitForTimeout(1500);
      await page.screenshot({ path: join(folder, `viewer-phone-${colorScheme}.png`) });
      await page.getByRole("button", { name: "Controls and plots" }).click();
      await page.waitForTimeout(800);
      await page.screenshot({ path: join(folder, `viewer-phone-${colorScheme}-panel.png`) });
    }, { ...phone, colorScheme });
  }
});
