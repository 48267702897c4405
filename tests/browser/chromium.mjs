// A browser without a window, driven through the DevTools protocol over a pipe: no other program
// and no port takes part.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless",
  // Whoever tests as root, in a container, has no sandbox; the pages are our own.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--remote-debugging-pipe",
];
/** Whoever does not answer for so long does not answer at all, in milliseconds. */
const PATIENCE = 60_000;

export class Chromium {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), "cdkr-browser-"));
    this.child = spawn(program, [...FLAGS, `--user-data-dir=${this.profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.calls = new Map();
    this.listeners = new Map();
    this.last = 0;
    let rest = "";
    this.child.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages) this.heard(JSON.parse(message));
    });
    this.child.stdio[3].on("error", (error) => this.fail(error));
    this.child.on("exit", () => this.fail(new Error("the browser has gone")));
    this.child.on("error", (error) => this.fail(error));
  }

  fail(error) {
    this.gone = error;
    for (const { reject } of this.calls.values()) reject(error);
    this.calls.clear();
  }

  heard({ id, result, error, method, params, sessionId }) {
    if (id === undefined) {
      this.listeners.get(sessionId)?.(method, params);
      return;
    }
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (error) call?.reject(new Error(`${call.method}: ${error.message}`));
    else call?.resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    if (this.gone) return Promise.reject(this.gone);
    const id = ++this.last;
    this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), PATIENCE);
      const done = (action) => (value) => {
        clearTimeout(timer);
        action(value);
      };
      this.calls.set(id, { method, resolve: done(resolve), reject: done(reject) });
    });
  }

  /** Opens a page. `width`, `height`, `scheme` (light, dark), `script` (whether it may run). */
  async open(url, { width = 1400, height = 900, scheme = "light", motion = "no-preference", script = true } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(domain + ".enable");
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await page.send("Emulation.setEmulatedMedia", {
      features: [
        { name: "prefers-color-scheme", value: scheme },
        { name: "prefers-reduced-motion", value: motion },
      ],
    });
    await page.send("Emulation.setScriptExecutionDisabled", { value: !script });
    const loaded = page.event("Page.loadEventFired");
    await page.send("Page.navigate", { url });
    await loaded;
    return page;
  }

  async close() {
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    if (!this.gone) {
      this.send("Browser.close").catch(() => {});
      await gone;
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** The codes of keys that stand for no letter. */
const KEYS = {
  ArrowDown: 40, ArrowUp: 38, ArrowLeft: 37, ArrowRight: 39, Home: 36, End: 35, PageDown: 34, PageUp: 33,
  Enter: 13, Escape: 27, Tab: 9, " ": 32,
};
const MODIFIERS = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };

class Page {
  constructor(browser, targetId, sessionId) {
    this.browser = browser;
    this.targetId = targetId;
    this.sessionId = sessionId;
    /** What the page complained of. */
    this.complaints = [];
    /** What it asked the network for. */
    this.requests = [];
    this.waiting = [];
    browser.listeners.set(sessionId, (method, params) => this.heard(method, params));
  }

  heard(method, params) {
    if (method === "Runtime.consoleAPICalled") this.complaints.push(params.args.map((one) => one.value).join(" "));
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description);
    if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url.slice(0, 200));
    this.waiting = this.waiting.filter(({ name, resolve }) => name !== method || resolve(params));
  }

  event(name) {
    return new Promise((resolve) => this.waiting.push({ name, resolve }));
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  /** Runs a function in the page, with values as arguments; returns its value. */
  async run(script, ...values) {
    const expression = typeof script === "string" ? script : `(${script})(${values.map((one) => JSON.stringify(one)).join(",")})`;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until everything that was asked of the page is drawn. */
  async settle(milliseconds = 0) {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await this.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  /** Clicks into the middle of the first element that a selector names and that has the text. */
  async click(selector, text = "") {
    const at = await this.run((selector, text) => {
      const found = [...document.querySelectorAll(selector)].find((one) => one.textContent.includes(text));
      if (!found) return null;
      found.scrollIntoView({ block: "center", behavior: "instant" });
      const box = found.getBoundingClientRect();
      return { x: box.x + Math.min(box.width / 2, 60), y: box.y + box.height / 2 };
    }, selector, text);
    if (!at) throw new Error(`there is no ${selector} with “${text}”`);
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, ...at, button: "left", clickCount: 1 });
    }
    await this.settle();
  }

  /** Presses a key, such as `Enter`, `a` or `Control+k`. */
  async press(name) {
    const parts = name.length > 1 ? name.split("+") : [name];
    const key = parts.pop();
    const modifiers = parts.reduce((sum, one) => sum + MODIFIERS[one], 0);
    const code = KEYS[key] ?? key.toUpperCase().charCodeAt(0);
    const isTyped = key.length === 1 && modifiers === 0;
    const text = isTyped ? key : key === "Enter" ? "\r" : undefined;
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, modifiers, text, windowsVirtualKeyCode: code });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers, windowsVirtualKeyCode: code });
    await this.settle();
  }

  /** Types a text. */
  async type(text) {
    await this.send("Input.insertText", { text });
    await this.settle(250);
  }

  async screenshot(path, isFull = false) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: isFull });
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  async close() {
    await this.browser.send("Target.closeTarget", { targetId: this.targetId });
  }
}
