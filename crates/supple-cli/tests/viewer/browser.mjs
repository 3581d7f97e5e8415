// A page in Debian's Chromium; every error in its console fails the test.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(join(process.env.SUPPLE_NODE_MODULES, "package.json"));
const { chromium } = require("playwright-core");

const ARGUMENTS = [
  "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
];

/** Opens the page, hands it to `use`, and closes everything. */
export async function onPage(address, use, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), "supple-page-"));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.SUPPLE_CHROMIUM,
    headless: true,
    args: ARGUMENTS,
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const problems = [];
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("requestfailed", (request) => problems.push(`${request.url()} failed`));
    page.setDefaultTimeout(60000);
    await page.goto(address);
    await frames(page, 1);
    await use(page);
    assert.deepEqual(problems, [], "errors in the browser's console");
  } finally {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits until this many more frames are on the screen. */
export async function frames(page, count) {
  const before = await page.evaluate(() => window.supple?.framesDrawn ?? 0);
  await page.waitForFunction((until) => window.supple && window.supple.framesDrawn >= until, before + count);
}

/** Waits until a condition holds for the state or the last frame. */
export function until(page, condition, argument) {
  return page.waitForFunction(condition, argument);
}

/** Where a vertex of the first body is, in the world and on the page. */
export function vertex(page, number) {
  return page.evaluate((number) => {
    const position = window.supple.position(0, number);
    return { position, ...window.supple.place(position) };
  }, number);
}

/** The colours of some places of the page, read from a screenshot by the browser itself. */
export async function coloursAt(page, places) {
  const picture = (await page.screenshot()).toString("base64");
  return page.evaluate(
    async ({ picture, places }) => {
      const bytes = Uint8Array.from(atob(picture), (c) => c.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return places.map(({ x, y }) => [...context.getImageData(Math.round(x), Math.round(y), 1, 1).data].slice(0, 3));
    },
    { picture, places },
  );
}

export function distance(a, b) {
  return Math.hypot(...a.map((c, k) => c - b[k]));
}

export { assert };
