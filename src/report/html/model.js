// What the page is about: everything that the markup shows, as items that can be asked for.

/** Makes an element. Texts are only ever set as text. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const data = JSON.parse(document.getElementById("data").textContent);
/** Name, sign and word of what can happen. */
const TAGS = data.tags.map(([name, sign, word]) => ({ name, sign, word }));
const SIGN = Object.fromEntries(TAGS.map((tag) => [tag.name, tag.sign]));
const RISKS = ["high", "unknown", "low"];

function readPlace(place, stacks) {
  return place ? { stack: stacks[place[0]][0], id: place[1], path: place[2] || null } : null;
}

/**
 * Everything in an environment: the changes in the order of their numbers, then what stays in the
 * order of the page.
 */
function readEnvironment(environment, first) {
  const { stacks } = environment;
  const items = environment.changes.map(
    ([kind, type, effect, risk, isCertain, isMoved, before, after], at) => ({
      number: first + at,
      kind,
      type: data.types[type],
      effect,
      risk,
      isCertain: isCertain === 1,
      isMoved: isMoved === 1,
      before: readPlace(before, stacks),
      after: readPlace(after, stacks),
      isShown: true,
      text: null,
    }),
  );
  for (const [type, place] of environment.same) {
    const at = readPlace(place, stacks);
    items.push({
      number: -1,
      kind: "Resource",
      type: data.types[type],
      effect: "same",
      risk: null,
      isCertain: true,
      isMoved: false,
      before: at,
      after: at,
      isShown: true,
      text: null,
    });
  }
  return { name: environment.name, stacks, items };
}

const environments = [];
{
  let first = 0;
  for (const environment of data.environments) {
    environments.push(readEnvironment(environment, first));
    first += environment.changes.length;
  }
}
const everything = environments.flatMap((environment) => environment.items);

/** The element in which a change is described; `null` for what stays. */
function body(item) {
  return item.number < 0 ? null : document.getElementById("c" + item.number);
}

/** What can be searched for: everything that the page says of an item. */
function searchText(item) {
  if (item.text === null) {
    const said = item.number < 0 ? "" : body(item).parentElement.textContent;
    const place = item.after ?? item.before;
    const places = place ? [place.stack, place.id, place.path ?? ""].join(" ") : "";
    item.text = (item.type + " " + places + " " + said).toLowerCase();
  }
  return item.text;
}

/** What is asked for. Empty sets and texts ask for nothing. */
const wanted = { words: [], risks: new Set(), effects: new Set(), type: "" };

function isAsking() {
  return wanted.words.length > 0 || wanted.risks.size > 0 || wanted.effects.size > 0 || wanted.type !== "";
}

function isWanted(item) {
  if (wanted.type !== "" && item.type !== wanted.type) return false;
  if (wanted.risks.size > 0 && !wanted.risks.has(item.risk)) return false;
  if (
    wanted.effects.size > 0 &&
    !wanted.effects.has(item.effect) &&
    !(item.isMoved && wanted.effects.has("move"))
  ) {
    return false;
  }
  return wanted.words.every((word) => searchText(item).includes(word));
}

/** The name of a place for people, as the markup shows it. */
function shortName(place) {
  return place.path ? place.path.replace(/\/(Resource|Default)$/, "") : place.id;
}

function plural(number, singular) {
  return `${number} ${singular}${number === 1 ? "" : "s"}`;
}

/** What happens to an item, in words. */
function effectWords(item) {
  const word = TAGS.find((tag) => tag.name === item.effect).word;
  const words = [item.isCertain ? word : "may be " + word];
  if (item.isMoved && item.effect !== "move") words.push("moved");
  return words.join(", ");
}

