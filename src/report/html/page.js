// The tools of the page: search, filters, the choice between list and trees, light and dark.

const list = document.getElementById("list");
const trees = new Trees();
const found = h("p", { id: "found", role: "status" });
/** Of each stack its element, its changes with their elements, and what stays in it. */
const stacks = [...list.querySelectorAll(".stack:not(.perms)")].map((element) => {
  const found = h("span", { class: "g mv", hidden: true });
  element.querySelector("summary").append(" ", found);
  return { element, found, items: [], same: element.querySelector(":scope > .same"), sameItems: [], wasOpen: null };
});

{
  const byElement = new Map(stacks.map((stack) => [stack.element, stack]));
  for (const item of everything) {
    if (item.number >= 0) byElement.get(body(item).closest(".stack")).items.push(item);
  }
  const same = everything.filter((item) => item.number < 0);
  let at = 0;
  for (const stack of stacks) {
    const number = stack.same ? stack.same.querySelector("ul").children.length : 0;
    stack.sameItems = same.slice(at, at + number);
    at += number;
  }
}

const inAll = `${everything.length} in all`;

/** Shows what is asked for, in the list and in the trees. */
function apply() {
  const isOn = isAsking();
  let number = 0;
  for (const item of everything) {
    item.isShown = !isOn || isWanted(item);
    if (item.isShown) number += 1;
  }
  const opens = isOn && number <= OPEN_CHANGES;
  for (const stack of stacks) filterStack(stack, isOn, opens);
  for (const section of list.querySelectorAll(".env")) {
    filterPermissions(section.querySelector(":scope > .perms"), isOn);
    section.hidden = isOn && ![...section.children].some((one) => one.matches(".stack:not([hidden])"));
  }
  found.textContent = isOn ? `${number} of ${everything.length} found` : inAll;
  reset.hidden = !isOn;
  trees.refresh();
}

function filterStack(stack, isOn, opens) {
  let number = 0;
  for (const item of stack.items) {
    body(item).parentElement.hidden = !item.isShown;
    if (item.isShown) number += 1;
  }
  let same = 0;
  if (stack.same) {
    const entries = stack.same.querySelector("ul").children;
    stack.sameItems.forEach((item, at) => {
      entries[at].hidden = !item.isShown;
      if (item.isShown) same += 1;
    });
    stack.same.hidden = same === 0;
  }
  stack.element.hidden = isOn && number + same === 0;
  stack.found.hidden = !isOn;
  stack.found.textContent = `${number + same} found`;
  if (opens && number + same > 0) {
    stack.wasOpen ??= stack.element.open;
    stack.element.open = true;
    if (stack.same) stack.same.open = same > 0;
  } else if (!isOn && stack.wasOpen !== null) {
    stack.element.open = stack.wasOpen;
    if (stack.same) stack.same.open = false;
    stack.wasOpen = null;
  }
}

/** Permissions have no risk, effect or type of their own: they can be searched, not filtered. */
function filterPermissions(element, isOn) {
  if (!element) return;
  const isSearch = wanted.words.length > 0 && wanted.risks.size + wanted.effects.size === 0 && wanted.type === "";
  for (const table of element.querySelectorAll(".wide")) {
    for (const row of table.querySelectorAll("tbody tr")) {
      const text = isOn ? row.textContent.toLowerCase() : "";
      row.hidden = isOn && !(isSearch && wanted.words.every((word) => text.includes(word)));
    }
    table.hidden = !table.querySelector("tbody tr:not([hidden])");
  }
  element.hidden = !element.querySelector(".wide:not([hidden])");
}

/** A group of buttons of which any number can be pressed. */
function choices(legend, options, set) {
  const buttons = options.map(({ value, label }) =>
    h("button", {
      type: "button",
      "aria-pressed": "false",
      "data-value": value,
      onclick: (event) => {
        const isOn = !set.has(value);
        if (isOn) set.add(value);
        else set.delete(value);
        event.currentTarget.setAttribute("aria-pressed", String(isOn));
        apply();
      },
    }, label));
  return h("fieldset", {}, h("legend", {}, legend), ...buttons);
}

/** Opens or closes all stacks that are shown. */
function openAll() {
  const shown = [...list.querySelectorAll(".stack:not([hidden])")];
  const isOpen = shown.every((one) => one.open);
  for (const one of shown) one.open = !isOpen;
}

function counted(is) {
  return everything.filter(is).length;
}

const search = h("input", { type: "search", id: "search", placeholder: "Search names, types, values, causes (Ctrl+K)", "aria-label": "Search", "aria-keyshortcuts": "Control+K", autocomplete: "off", spellcheck: "false" });
const reset = h("button", { type: "button", hidden: true, onclick: clear }, "Show all");
const opener = h("button", { type: "button", onclick: openAll }, "Open or close all");
const types = [...new Set(everything.map((item) => item.type))].sort();
const typeChooser = h("select", { "aria-label": "Type" }, h("option", { value: "" }, "All types"),
  ...types.map((type) => h("option", { value: type }, `${type} (${counted((item) => item.type === type)})`)));

let waiting = 0;
function seek() {
  clearTimeout(waiting);
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.join(" ") === wanted.words.join(" ")) return;
  wanted.words = words;
  apply();
}
// While somebody types, the page waits for the end of the word.
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(seek, 120);
  toTop();
});
search.addEventListener("change", seek);
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") clear();
});
typeChooser.addEventListener("change", () => {
  wanted.type = typeChooser.value;
  apply();
});

/** Takes what is found into sight. */
function toTop() {
  if (tools.getBoundingClientRect().top > 100) document.getElementById("changes").scrollIntoView();
}

function clear() {
  search.value = "";
  typeChooser.value = "";
  wanted.words = [];
  wanted.type = "";
  wanted.risks.clear();
  wanted.effects.clear();
  for (const button of tools.querySelectorAll("fieldset button")) button.setAttribute("aria-pressed", "false");
  apply();
}

const views = { list: h("button", { type: "button", onclick: () => showView("list") }, "List"),
  trees: h("button", { type: "button", onclick: () => showView("trees") }, "Before and after") };

function showView(name) {
  for (const [other, button] of Object.entries(views)) button.setAttribute("aria-pressed", String(other === name));
  list.hidden = name !== "list";
  opener.hidden = name !== "list";
  trees.element.hidden = name !== "trees";
  if (name === "trees") {
    if (!trees.environment) trees.show(Math.max(0, environments.findIndex(isDangerous)));
    else trees.redraw();
  }
}

const tools = h("div", { id: "tools", role: "search", "aria-label": "Search and filter" },
  h("div", { class: "row" }, h("fieldset", {}, h("legend", {}, "View"), views.list, views.trees), search, typeChooser, found, reset, opener),
  h("div", { class: "row" },
    choices("Risk", RISKS.map((risk) => ({ value: risk, label: `${risk === "high" ? "! " : ""}${risk} ${counted((item) => item.risk === risk)}` })), wanted.risks),
    choices("Effect", TAGS.map(({ name, sign, word }) => ({
      value: name,
      number: counted((item) => item.effect === name || (name === "move" && item.isMoved)),
      label: `${sign} ${word}`,
    })).filter((one) => one.number > 0).map((one) => ({ ...one, label: `${one.label} ${one.number}` })), wanted.effects)));

function isDangerous({ items }) {
  return items.some((item) => item.risk === "high");
}

/** Shows the description of a change in the list, whatever hides it. */
function reveal(id) {
  const target = document.getElementById(id);
  if (!target || !list.contains(target)) return false;
  showView("list");
  if (isAsking() && target.closest("[hidden]")) clear();
  for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  target.scrollIntoView({ block: "nearest" });
  const summary = target.parentElement.querySelector("summary");
  summary.scrollIntoView({ block: "center" });
  summary.focus({ preventScroll: true });
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#c"]');
  if (link && reveal(link.getAttribute("href").slice(1))) {
    event.preventDefault();
    history.replaceState(null, "", link.getAttribute("href"));
  }
});

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    toTop();
    search.focus({ preventScroll: true });
    search.select();
  }
});

// From one change to the next with the arrows, while one has the focus.
list.addEventListener("keydown", (event) => {
  if (!event.target.matches("summary") || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  const all = [...list.querySelectorAll(".stack > summary, .stack[open] > .c > summary, .stack[open] > .same > summary")];
  const shown = all.filter((one) => !one.closest("[hidden]"));
  const next = shown[shown.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) next.focus();
  event.preventDefault();
});

const THEMES = ["auto", "light", "dark"];
const theme = h("button", { type: "button", id: "theme", onclick: () => setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length], true) });

function setTheme(name, isChosen) {
  theme.value = name;
  theme.textContent = "Theme: " + name;
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  if (!isChosen) return;
  try {
    localStorage.setItem("cdkr-theme", name);
  } catch {
    // Where nothing can be kept, the choice holds for this visit.
  }
}

function keptTheme() {
  try {
    return localStorage.getItem("cdkr-theme");
  } catch {
    return null;
  }
}

document.querySelector("header").append(theme);
setTheme(THEMES.includes(keptTheme()) ? keptTheme() : "auto", false);
if (everything.length > 0) {
  list.before(tools);
  list.after(trees.element);
  document.querySelector("footer").append(h("p", {},
    "Keys: Ctrl+K searches, Escape shows all again. Arrows go from change to change and through the trees, Enter opens; in a tree, Shift+Enter goes to the other side, and letters to a name."));
  showView("list");
  found.textContent = inAll;
  if (location.hash.startsWith("#c")) reveal(location.hash.slice(1));
}
