// Looks at the pages of change reports as a person would, in a real browser.
//
//   node check.mjs CHROMIUM MODULES PAGES
//
// MODULES is the directory in which `npm ci` put axe-core. PAGES holds small.html, hostile.html,
// calm.html and large.html (tests/html_report.rs writes them); screenshots are put beside them.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium } from "./chromium.mjs";

const [program, modules, pages] = process.argv.slice(2);
const axe = readFileSync(join(modules, "node_modules/axe-core/axe.min.js"), "utf8");
const url = (name) => pathToFileURL(join(resolve(pages), name + ".html")).href;
const shot = (name) => join(pages, name + ".png");
for (const name of readdirSync(pages)) if (name.endsWith(".png")) rmSync(join(pages, name));
const browser = new Chromium(program);
let failed = 0;
let passed = 0;

/** Opens a page, checks something about it, and that it complained of nothing. */
async function check(fact, name, options, test) {
  let page = null;
  try {
    page = await browser.open(url(name), options);
    await test(page);
    assert.deepEqual(page.complaints, [], "the page complained");
    const foreign = page.requests.filter((one) => !/^(file|data):/.test(one));
    assert.deepEqual(foreign, [], "the page asked the network");
    passed += 1;
    console.log("ok      " + fact);
  } catch (error) {
    failed += 1;
    await page?.screenshot(shot("failed-" + failed)).catch(() => {});
    console.log(`FAILED  ${fact} (failed-${failed}.png)\n${error.stack}`);
  }
  await page?.close().catch(() => {});
}

/** What is hard to use for somebody, as axe-core sees it. */
async function accessible(page) {
  await page.run(axe);
  const found = await page.run(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  });
  assert.deepEqual(found, []);
}

/** What somebody hears who cannot see what has the focus. */
const focused = (page) => page.run(() => {
  const copy = document.activeElement.cloneNode(true);
  copy.querySelectorAll("[aria-hidden]").forEach((one) => one.remove());
  return copy.textContent.replace(/\s+/g, " ").trim();
});
const status = (page) => page.run(() => document.getElementById("found").textContent);
const shown = (page, selector) =>
  page.run((selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()).map((one) => one.textContent.trim()), selector);
const toTrees = async (page) => {
  await page.click("#tools button", "Before and after");
  await page.settle(100);
};

await check("what is dangerous is in sight at once", "small", {}, async (page) => {
  assert.equal((await shown(page, "#verdict .big"))[0], "! 5 dangerous changes");
  const bottom = await page.run(() => document.querySelector(".dangers").getBoundingClientRect().bottom);
  assert.ok(bottom < 450, `the first danger ends at ${bottom}`);
  await page.screenshot(shot("light"));
  await page.screenshot(shot("light-all"), true);
});

for (const scheme of ["light", "dark"]) {
  await check(`the list is accessible (${scheme})`, "small", { scheme }, async (page) => {
    await accessible(page);
    await page.run(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await accessible(page);
    await page.screenshot(shot("open-" + scheme), true);
    await page.click("#tools button", "high");
    await accessible(page);
  });
  await check(`the trees are accessible (${scheme})`, "small", { scheme }, async (page) => {
    await toTrees(page);
    await page.click('[aria-label="Before"] [role=treeitem]', "DynamoDB::Table");
    await page.run(() => document.getElementById("changes").scrollIntoView({ behavior: "instant" }));
    await page.settle(100);
    await page.screenshot(shot("trees-" + scheme));
    await accessible(page);
  });
}

await check("the page is dark where the reader wants it", "small", { scheme: "dark" }, async (page) => {
  const colour = () => page.run(() => getComputedStyle(document.body).backgroundColor);
  const dark = await colour();
  await page.screenshot(shot("dark"));
  await page.click("#theme");
  const light = await colour();
  assert.equal(light, "rgb(255, 255, 255)");
  await page.click("#theme");
  assert.equal(await colour(), dark);
  assert.equal((await shown(page, "#theme"))[0], "Theme: dark");
  await page.click("#theme");
});

await check("a danger leads to what is said of it", "small", {}, async (page) => {
  await page.click(".dangers a", "Orders/Table");
  await page.settle(600);
  const at = await page.run(() => {
    const box = document.activeElement.getBoundingClientRect();
    return { said: document.activeElement.parentElement.textContent, top: box.top, isOpen: document.activeElement.parentElement.open };
  });
  assert.ok(at.isOpen && at.said.includes("Properties.KeySchema") && at.top > 0 && at.top < 900, JSON.stringify(at));
});

await check("a search finds names, types and values, and Escape ends it", "small", {}, async (page) => {
  await page.press("Control+k");
  await page.type("keyschema");
  assert.equal(await status(page), "1 of 30 found");
  assert.deepEqual((await shown(page, ".c > summary code:first-of-type")).slice(0, 1), ["Orders/Table"]);
  await page.screenshot(shot("search"));
  await page.press("Escape");
  assert.equal(await status(page), "30 in all");
  await page.type("range day");
  assert.equal(await status(page), "1 of 30 found");
  await page.press("Escape");
  await page.type("internetgateway");
  assert.deepEqual(await shown(page, ".same li code"), ["Network/Vpc/IGW"]);
  await page.press("Escape");
  await page.type("there is no such thing");
  assert.equal(await status(page), "0 of 30 found");
});

await check("filters add up, and a button shows all again", "small", {}, async (page) => {
  await page.click("#tools button", "! high");
  assert.equal(await status(page), "5 of 30 found");
  await page.click("#tools button", "± replaced");
  assert.equal(await status(page), "2 of 30 found");
  await page.click("#tools button", "≡ moved");
  assert.equal(await status(page), "2 of 30 found");
  await page.click("#tools button", "Show all");
  assert.equal(await status(page), "30 in all");
  await page.run(() => {
    const select = document.querySelector("#tools select");
    select.value = "AWS::SQS::Queue";
    select.dispatchEvent(new Event("change"));
  });
  assert.equal(await status(page), "3 of 30 found");
  assert.deepEqual(await shown(page, ".env h3"), ["aws://111111111111/eu-west-1", "aws://111111111111/us-east-1"]);
});

await check("trees are walked with the keyboard", "small", {}, async (page) => {
  await toTrees(page);
  const isRoving = () =>
    page.run(() => [...document.querySelectorAll("[role=tree]")].map((tree) => tree.querySelectorAll('[tabindex="0"]').length));
  await page.run(() => document.querySelector('[aria-label="Before"] [tabindex="0"]').focus());
  assert.equal(await focused(page), "Legacy");
  await page.press("ArrowDown");
  assert.match(await focused(page), /^Reports S3::Bucket, let go/);
  await page.press("ArrowLeft");
  await page.press("ArrowLeft");
  assert.equal(await focused(page), "Legacy 1 change");
  assert.equal(await page.run(() => document.activeElement.getAttribute("aria-expanded")), "false");
  await page.press("ArrowRight");
  await page.press("End");
  const last = await focused(page);
  await page.press("Home");
  assert.notEqual(await focused(page), last);
  assert.deepEqual(await isRoving(), [1, 1]);
  for (const letter of "tab") await page.press(letter);
  assert.match(await focused(page), /^Table DynamoDB::Table, replaced, moved ! high risk/);
  await page.press("Enter");
  assert.match((await shown(page, "#detail"))[0], /all that it holds is deleted/);
  await page.press("Shift+Enter");
  assert.match(await focused(page), /^Table /);
  assert.equal(await page.run(() => document.activeElement.closest("[role=tree]").getAttribute("aria-label")), "After");
  assert.deepEqual(await isRoving(), [1, 1]);
  await page.press("Shift+Tab");
  assert.equal(await page.run(() => document.activeElement.closest("[role=tree]").getAttribute("aria-label")), "Before");
});

await check("every move is a line, also into a construct that is closed", "small", {}, async (page) => {
  await toTrees(page);
  const lines = () => page.run(() => document.querySelectorAll("#trees path").length);
  assert.equal(await lines(), 6);
  await page.run(() => [...document.querySelectorAll('[aria-label="Before"] [role=treeitem]')].find((one) => one.textContent.includes("Shop")).focus());
  await page.press("ArrowLeft");
  assert.equal(await lines(), 6);
  await page.click("#tools button", "± replaced");
  assert.equal(await lines(), 1);
  await page.click("#tools button", "Show all");
  await page.run(() => [...document.querySelectorAll("label")].find((one) => one.textContent.includes("Show what stays")).click());
  await page.settle();
  assert.ok((await shown(page, '[aria-label="After"] .name')).includes("Vpc"));
});

await check("what is opened on one side is opened on the other", "small", {}, async (page) => {
  await toTrees(page);
  const isOpen = () =>
    page.run(() =>
      ["Before", "After"].map((side) =>
        [...document.querySelectorAll(`[aria-label="${side}"] [role=treeitem]`)].find((one) => one.textContent.includes("Web")).getAttribute("aria-expanded")));
  assert.deepEqual(await isOpen(), ["true", "true"]);
  await page.click('[aria-label="After"] [role=treeitem]', "Web");
  assert.deepEqual(await isOpen(), ["false", "false"]);
  await page.click("label", "together");
  await page.click('[aria-label="After"] [role=treeitem]', "Web");
  assert.deepEqual(await isOpen(), ["false", "true"]);
});

await check("everything is there without a script", "small", { script: false }, async (page) => {
  const { root } = await page.send("DOM.getDocument", { depth: 0 });
  const html = await page.send("DOM.getOuterHTML", { nodeId: root.nodeId });
  for (const text of ["5 dangerous changes", "Properties.KeySchema", "Network/Vpc/IGW"]) assert.ok(html.outerHTML.includes(text), text);
  assert.ok(!html.outerHTML.includes('id="tools"'));
  await page.screenshot(shot("no-script"), true);
});

await check("nothing that is written in a template is carried out", "hostile", {}, async (page) => {
  assert.equal(await page.run(() => document.querySelectorAll("main img, main script, main b > i").length), 0);
  assert.equal(await page.run(() => window.hit), undefined);
  await page.run(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  const text = await page.run(() => document.body.innerText);
  assert.ok(text.includes("<img src=x onerror=hit=1>") && text.includes("\\u{202e}"), "it is shown as it is");
  await toTrees(page);
  await page.press("Control+k");
  await page.type("</script>");
  assert.match(await status(page), /^[1-9]\d* of/);
  assert.equal(await page.run(() => window.hit), undefined);
  await page.screenshot(shot("hostile"));
});

await check("the policy of the page lets no other script run", "hostile", {}, async (page) => {
  await page.run(() => {
    document.head.append(Object.assign(document.createElement("script"), { textContent: "window.hit = 1" }));
  });
  await page.settle(50);
  assert.equal(await page.run(() => window.hit), undefined);
  assert.equal(page.complaints.length, 1);
  assert.match(page.complaints.pop(), /Content Security Policy/);
});

await check("where nothing is known to be dangerous the page says what it does not know", "calm", {}, async (page) => {
  assert.equal((await shown(page, "#verdict .big"))[0], "? No known danger, but 10 changes of unknown risk");
  assert.equal(await page.run(() => document.getElementById("danger")), null);
  await accessible(page);
  await page.screenshot(shot("calm"));
});

await check("a narrow window cuts nothing off", "small", { width: 400, height: 800 }, async (page) => {
  await page.run(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  const width = await page.run(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `the page is ${width} wide`);
  await page.screenshot(shot("narrow"));
});

await check("who wants no motion gets none", "small", { motion: "reduce" }, async (page) => {
  assert.equal(await page.run(() => getComputedStyle(document.documentElement).scrollBehavior), "auto");
});

await check("five thousand resources are found, and only those in sight are drawn", "large", {}, async (page) => {
  await page.screenshot(shot("large"));
  const load = await page.run(() => Math.round(performance.getEntriesByType("navigation")[0].domComplete));
  /** How long something takes until it is drawn, in milliseconds. */
  const measured = (script) =>
    page.run(`(async () => {
      const start = performance.now();
      { ${script} }
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return Math.round(performance.now() - start);
    })()`);
  const search = (text) => `
    const search = document.getElementById("search");
    search.value = ${JSON.stringify(text)};
    search.dispatchEvent(new Event("change"));`;
  const first = await measured(search("queue"));
  const second = await measured(search("queue 0123"));
  const all = await measured(search(""));
  await measured(search("AWS::"));
  assert.equal(await status(page), "5000 of 5000 found");
  await measured(search(""));
  const trees = await measured(`[...document.querySelectorAll("#tools button")].find((one) => one.textContent === "Before and after").click()`);
  await page.settle(100);
  const rows = () => page.run(() => document.querySelectorAll("[role=treeitem]").length);
  assert.ok((await rows()) < 200, `${await rows()} rows`);
  await page.run(() => document.querySelector('[aria-label="After"] [tabindex="0"]').focus());
  await page.press("End");
  assert.ok((await rows()) < 200, `${await rows()} rows`);
  assert.ok(await page.run(() => document.activeElement.getAttribute("role") === "treeitem"));
  const same = await measured(`[...document.querySelectorAll("label")].find((one) => one.textContent.includes("Show what stays")).click()`);
  await page.run(() => document.querySelector('[aria-label="After"] [tabindex="0"]').focus());
  for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowRight", "*", "PageDown"]) await page.press(key);
  assert.ok((await rows()) < 200, `${await rows()} rows`);
  await page.run(() => document.getElementById("changes").scrollIntoView({ behavior: "instant" }));
  await page.settle(100);
  await page.screenshot(shot("large-trees"));
  await page.click("#tools button", "List");
  const open = await measured(`[...document.querySelectorAll("#tools button")].find((one) => one.textContent === "Open or close all").click()`);
  assert.equal(await page.run(() => document.querySelectorAll(".stack[open] > .c:not([hidden])").length), 2000);
  const size = statSync(join(pages, "large.html")).size;
  console.log(`figures ${size} bytes; milliseconds: load ${load}, first search ${first}, next search ${second}, ` +
    `end of search ${all}, trees ${trees}, all in trees ${same}, all stacks open ${open}`);
});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
