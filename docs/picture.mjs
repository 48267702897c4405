// Takes the picture of a page of `cdkr diff --report` that the README shows: verdict, dangers, and the trees before and after.
//
//   node docs/picture.mjs PAGE PICTURE [CHROMIUM]
//
// The picture is as wide as the page (1400 pixels) and has 256 colours at most, so that it stays small.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { Chromium } from "../tests/browser/chromium.mjs";

const [page, picture, program = "chromium"] = process.argv.slice(2);
if (!picture) throw new Error("node docs/picture.mjs PAGE PICTURE [CHROMIUM]");
const size = { width: 1400, height: 1300 };
const browser = new Chromium(program);
try {
  const tab = await browser.open(pathToFileURL(resolve(page)).href, { ...size, scheme: "light", motion: "reduce" });
  await tab.click("button", "Before and after");
  await tab.run(() => scrollTo(0, 0));
  await tab.settle(500);
  const height = await tab.run(() => {
    // A tree may be longer than the frame in which it is seen.
    const frame = (one) => (/auto|scroll/.test(getComputedStyle(one).overflowY) ? one : frame(one.parentElement));
    const frames = [...document.querySelectorAll('[role="tree"]')].map((tree) => frame(tree).getBoundingClientRect());
    return Math.ceil(Math.max(...frames.map((one) => one.bottom)) + scrollY + 24);
  });
  const clip = { x: 0, y: 0, width: size.width, height, scale: 1 };
  const { data } = await tab.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
  if (tab.complaints.length > 0) throw new Error(`the page complained: ${tab.complaints.join("; ")}`);
  writeFileSync(picture, withPalette(Buffer.from(data, "base64")));
} finally {
  await browser.close();
}
console.log(`${picture}: ${readFileSync(picture).length} bytes`);

/** A PNG with at most 256 colours, of one with 8 bits for each of red, green, blue (and alpha, which is dropped). */
function withPalette(png) {
  const { width, height, depth, pixels } = read(png);
  const near = new Map();
  for (let at = 0; at < pixels.length; at += depth) {
    const color = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
    near.set(color, (near.get(color) ?? 0) + 1);
  }
  const apart = (a, b) => [16, 8, 0].reduce((sum, bits) => sum + (((a >> bits) & 255) - ((b >> bits) & 255)) ** 2, 0);
  // The most frequent ones, and of the others those that are least like any that is taken: signs are small.
  const rest = [...near].sort((a, b) => b[1] - a[1]).map(([color]) => ({ color, distance: Infinity }));
  const palette = [];
  while (palette.length < 256 && rest.length > 0) {
    const farthest = () => rest.reduce((best, { distance }, at) => (distance > rest[best].distance ? at : best), 0);
    const [{ color }] = rest.splice(palette.length < 160 ? 0 : farthest(), 1);
    palette.push(color);
    for (const one of rest) one.distance = Math.min(one.distance, apart(one.color, color));
  }
  const place = new Map(palette.map((color, at) => [color, at]));
  const nearest = (color) => {
    if (!place.has(color)) {
      const best = palette.reduce((best, one, at) => (apart(one, color) < apart(palette[best], color) ? at : best), 0);
      place.set(color, best);
    }
    return place.get(color);
  };
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * depth;
      rows[y * (width + 1) + 1 + x] = nearest((pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]);
    }
  }
  const header = Buffer.from(png.subarray(16, 29));
  header[9] = 3;
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  const chunks = [["IHDR", header], ["PLTE", colors], ["IDAT", deflateSync(rows, { level: 9 })], ["IEND", Buffer.alloc(0)]];
  return Buffer.concat([png.subarray(0, 8), ...chunks.map(([name, data]) => chunk(name, data))]);
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)]);
}

/** Width, height, bytes per pixel and the pixels of a PNG that is not interlaced. */
function read(png) {
  const [width, height, depth] = [png.readUInt32BE(16), png.readUInt32BE(20), { 2: 3, 6: 4 }[png[25]]];
  if (png[24] !== 8 || !depth || png[28] !== 0) throw new Error("an unexpected kind of PNG");
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(parts));
  const line = width * depth;
  const pixels = Buffer.alloc(line * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (line + 1)];
    for (let x = 0; x < line; x += 1) {
      const at = y * line + x;
      const left = x >= depth ? pixels[at - depth] : 0;
      const above = y > 0 ? pixels[at - line] : 0;
      const corner = x >= depth && y > 0 ? pixels[at - line - depth] : 0;
      const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      pixels[at] = raw[y * (line + 1) + 1 + x] + predicted;
    }
  }
  return { width, height, depth, pixels };
}

function paeth(left, above, corner) {
  const [a, b, c] = [left, above, corner].map((one) => Math.abs(left + above - corner - one));
  if (a <= b && a <= c) return left;
  return b <= c ? above : corner;
}
