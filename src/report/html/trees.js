// The construct trees before and after, side by side, with the moves drawn between them. Only the
// rows in sight are in the document.

const ROW = 26;
const SPARE = 8;
const SVG = "http://www.w3.org/2000/svg";
/** With no more changes than this every construct with a change is open from the start. */
const OPEN_CHANGES = 150;
/** No more lines than this are drawn at once. */
const LINES = 400;

function newNode(name, parent) {
  return { name, parent, item: null, children: new Map(), isOpen: false, row: -1, shown: 0, high: 0, depth: 0 };
}

function child(parent, name) {
  let node = parent.children.get(name);
  if (!node) {
    node = newNode(name, parent);
    parent.children.set(name, node);
  }
  return node;
}

/** The components of a construct path below its stack. */
function below(place) {
  const parts = place.path.split("/");
  for (let length = 1; length < parts.length; length++) {
    if (parts.slice(0, length).join("-") === place.stack) return parts.slice(length);
  }
  return parts.length > 1 && place.stack.includes("/") ? parts.slice(1) : parts;
}

/** The node of a stack; a nested one is in that of its parent. */
function stackNode(root, stack, names) {
  const at = stack.lastIndexOf("/");
  const isNested = at > 0 && names.has(stack.slice(0, at));
  const parent = isNested ? stackNode(root, stack.slice(0, at), names) : root;
  const node = child(parent, isNested ? stack.slice(at + 1) : stack);
  node.isStack = true;
  return node;
}

/** A tree of everything that is on a side, and the node of each item. */
function grow(environment, side) {
  const root = newNode("", null);
  const nodes = new Map();
  const names = new Set(environment.stacks.map(([name]) => name));
  for (const item of environment.items) {
    const place = item[side];
    if (!place) continue;
    let node = stackNode(root, place.stack, names);
    if (item.kind !== "Resource") node = child(child(node, item.kind + "s"), place.id);
    else if (place.path) node = below(place).reduce(child, node);
    else node = child(node, place.id);
    if (node.item) node = child(node, place.id);
    node.item = item;
    nodes.set(item, node);
  }
  merge(root, nodes);
  sort(root);
  return { root, nodes };
}

const NAMES = new Intl.Collator("en", { numeric: true });

/** Puts what is in a node in the order of its names, so that both sides have the same order. */
function sort(node) {
  const sorted = [...node.children].sort(([one], [other]) => NAMES.compare(one, other));
  node.children = new Map(sorted);
  for (const one of node.children.values()) sort(one);
}

/** What the CDK calls `Resource` or `Default` is its construct: one row for both. */
function merge(node, nodes) {
  for (const one of node.children.values()) merge(one, nodes);
  if (node.item || node.isStack || !node.parent) return;
  for (const name of ["Resource", "Default"]) {
    const own = node.children.get(name);
    if (own?.item && own.children.size === 0) {
      node.item = own.item;
      node.children.delete(name);
      nodes.set(own.item, node);
      return;
    }
  }
}

/** One of both trees. */
class Tree {
  constructor(side, view) {
    this.side = side;
    this.view = view;
    this.rows = [];
    this.elements = new Map();
    this.active = null;
    this.typed = "";
    this.tree = h("div", { role: "tree", "aria-label": side === "before" ? "Before" : "After" });
    this.nothing = h("p", { class: "none", hidden: true }, "Nothing of what is asked for is here.");
    this.pane = h("div", { class: "pane", "data-side": side }, this.tree, this.nothing);
    this.pane.addEventListener("scroll", () => view.scrolled(this));
    this.tree.addEventListener("keydown", (event) => this.pressed(event));
    this.tree.addEventListener("click", (event) => this.clicked(event));
    this.tree.addEventListener("pointerover", (event) => view.pointed(this.nodeOf(event.target)));
    this.tree.addEventListener("pointerleave", () => view.pointed(null));
  }

  plant(environment) {
    const { root, nodes } = grow(environment, this.side);
    this.root = root;
    this.nodes = nodes;
    this.active = null;
    this.count(root);
    this.openFirst(environment);
  }

  /** Counts what is wanted in each node: without it a node has no row. */
  count(node) {
    const { item } = node;
    const isWanted = item && item.isShown && (item.effect !== "same" || this.view.showsSame);
    node.own = Boolean(isWanted);
    node.shown = isWanted ? 1 : 0;
    node.high = isWanted && item.risk === "high" ? 1 : 0;
    node.changed = isWanted && item.effect !== "same" ? 1 : 0;
    for (const one of node.children.values()) {
      one.depth = node.depth + 1;
      this.count(one);
      node.shown += one.shown;
      node.high += one.high;
      node.changed += one.changed;
    }
  }

  openFirst(environment) {
    const changes = environment.items.filter((item) => item.effect !== "same");
    const all = changes.length <= OPEN_CHANGES;
    for (const item of changes) {
      if (!all && item.risk !== "high") continue;
      this.uncover(item);
    }
  }

  /** Opens whatever an item is in. */
  uncover(item) {
    for (let node = this.nodes.get(item)?.parent; node; node = node.parent) node.isOpen = true;
  }

  /** Lays the rows anew, after something was opened, closed or asked for. */
  layOut() {
    this.rows = [];
    const add = (node, place, size) => {
      node.row = this.rows.length;
      node.place = place;
      node.size = size;
      this.rows.push(node);
      if (node.isOpen) inside(node);
      else forget(node);
    };
    const inside = (node) => {
      const shown = [...node.children.values()].filter((one) => one.shown > 0);
      shown.forEach((one, at) => add(one, at + 1, shown.length));
    };
    const forget = (node) => {
      for (const one of node.children.values()) {
        one.row = -1;
        if (one.isOpen || one.children.size > 0) forget(one);
      }
    };
    forget(this.root);
    inside(this.root);
    const hasFocus = this.tree.contains(document.activeElement);
    for (const element of this.elements.values()) element.remove();
    this.elements.clear();
    if (!this.active || this.active.row < 0) this.active = this.visible(this.active) ?? this.rows[0] ?? null;
    this.tree.hidden = this.rows.length === 0;
    this.nothing.hidden = this.rows.length > 0;
    this.tree.style.height = this.rows.length * ROW + "px";
    this.draw();
    if (hasFocus && this.active) this.elements.get(this.active).focus({ preventScroll: true });
  }

  /** The node in whose row a node is: itself, or the innermost open one around it. */
  visible(node) {
    while (node && node.row < 0) node = node.parent;
    return node?.parent ? node : null;
  }

  /** Makes the rows that are in sight; the active one is always there, since it has the focus. */
  draw() {
    const { scrollTop, clientHeight } = this.pane;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const to = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + SPARE);
    const needed = new Set(this.rows.slice(from, to));
    if (this.active) needed.add(this.active);
    for (const [node, element] of this.elements) {
      if (!needed.has(node)) {
        element.remove();
        this.elements.delete(node);
      }
    }
    for (const node of needed) {
      if (!this.elements.has(node)) this.elements.set(node, this.tree.appendChild(this.row(node)));
    }
  }

  row(node) {
    const { item } = node;
    const isInner = node.children.size > 0;
    const classes = [isInner ? "inner" : "leaf"];
    if (!item && node.changed === 0) classes.push("stay");
    if (item?.effect === "same" && node.changed === 0) classes.push("stay");
    const element = h(
      "div",
      {
        role: "treeitem",
        class: classes.join(" "),
        "aria-level": node.depth,
        "aria-posinset": node.place,
        "aria-setsize": node.size,
        "aria-expanded": isInner ? String(node.isOpen) : null,
        "aria-selected": String(node === this.view.selected || (item !== null && item === this.view.selected?.item)),
        tabindex: node === this.active ? "0" : "-1",
      },
      h("span", { class: "twist", "aria-hidden": "true" }, isInner ? (node.isOpen ? "▾" : "▸") : ""),
    );
    element.style.top = node.row * ROW + "px";
    element.style.paddingLeft = (node.depth - 1) * 16 + 4 + "px";
    if (item) {
      const sign = SIGN[item.effect];
      element.append(h("span", { class: "s " + item.effect, "aria-hidden": "true" }, item.effect === "same" ? "" : sign));
      if (item.isMoved && item.effect !== "move") element.append(h("span", { class: "s move", "aria-hidden": "true" }, "≡"));
    }
    element.append(h("span", { class: "name" }, node.name));
    if (item) element.append(" ", h("span", { class: "t" }, item.type.replace(/^AWS::/, "")));
    if (item) element.append(h("span", { class: "heard" }, `, ${effectWords(item)} `));
    if (item?.risk === "high") element.append(" ", h("span", { class: "g high" }, "! high risk"));
    if (isInner && !node.isOpen) {
      if (node.high > (item?.risk === "high" ? 1 : 0)) element.append(" ", h("span", { class: "g high" }, `! ${node.high} high risk`));
      element.append(" ", h("span", { class: "q" }, plural(node.changed, "change")));
    }
    element.node = node;
    return element;
  }

  nodeOf(target) {
    return target.closest?.('[role="treeitem"]')?.node ?? null;
  }

  /** Makes a row the active one, and takes it into sight. */
  activate(node, hasFocus = true) {
    if (!node) return;
    const old = this.active;
    this.active = node;
    this.reveal(node);
    this.draw();
    if (old) this.elements.get(old)?.setAttribute("tabindex", "-1");
    const element = this.elements.get(node);
    element.setAttribute("tabindex", "0");
    if (hasFocus) element.focus({ preventScroll: true });
  }

  reveal(node) {
    const { scrollTop, clientHeight } = this.pane;
    const top = node.row * ROW;
    if (top < scrollTop) this.pane.scrollTop = top - ROW;
    else if (top + ROW > scrollTop + clientHeight) this.pane.scrollTop = top + 2 * ROW - clientHeight;
  }

  setOpen(node, isOpen) {
    if (node.children.size === 0 || node.isOpen === isOpen) return;
    this.turn([node], isOpen);
    this.activate(node);
  }

  /** Opens or closes nodes, and what stands at the same place on the other side. */
  turn(nodes, isOpen) {
    const other = this.view.other(this);
    for (const node of nodes) {
      node.isOpen = isOpen && node.children.size > 0;
      const twin = this.view.together && this.view.twin(node, other);
      if (twin) twin.isOpen = isOpen && twin.children.size > 0;
    }
    this.layOut();
    if (this.view.together) other.layOut();
    this.view.drawMoves();
  }

  clicked(event) {
    const node = this.nodeOf(event.target);
    if (!node) return;
    this.activate(node);
    if (node.children.size > 0 && (!node.item || event.target.closest(".twist"))) this.setOpen(node, !node.isOpen);
    this.view.select(node, this);
  }

  pressed(event) {
    const node = this.active;
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.pane.clientHeight / ROW) - 1);
    const to = (row) => this.activate(this.rows[Math.min(this.rows.length - 1, Math.max(0, row))]);
    switch (event.key) {
      case "ArrowDown": to(node.row + 1); break;
      case "ArrowUp": to(node.row - 1); break;
      case "PageDown": to(node.row + page); break;
      case "PageUp": to(node.row - page); break;
      case "Home": to(0); break;
      case "End": to(this.rows.length - 1); break;
      case "ArrowRight":
        if (node.children.size > 0 && !node.isOpen) this.setOpen(node, true);
        else if (node.isOpen) to(node.row + 1);
        break;
      case "ArrowLeft":
        if (node.isOpen && node.children.size > 0) this.setOpen(node, false);
        else if (node.parent?.parent) this.activate(node.parent);
        break;
      case "*":
        this.turn([...node.parent.children.values()], true);
        this.activate(node);
        break;
      case "Enter":
      case " ":
        if (event.shiftKey) this.view.cross(this);
        else this.view.select(node, this);
        break;
      default:
        if (event.key.length !== 1) return;
        this.typeAhead(event.key);
    }
    event.preventDefault();
  }

  /** Goes to the next row whose name begins with what was typed within a second. */
  typeAhead(key) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => (this.typed = ""), 1000);
    this.typed += key.toLowerCase();
    const start = this.active.row + (this.typed.length === 1 ? 1 : 0);
    for (let step = 0; step < this.rows.length; step++) {
      const node = this.rows[(start + step) % this.rows.length];
      if (node.name.toLowerCase().startsWith(this.typed)) return this.activate(node);
    }
  }
}

/** Both trees, the lines between them, and what is said of the selected node. */
class Trees {
  constructor() {
    this.showsSame = false;
    this.together = true;
    this.selected = null;
    this.hovered = null;
    this.before = new Tree("before", this);
    this.after = new Tree("after", this);
    this.lines = document.createElementNS(SVG, "svg");
    this.lines.setAttribute("aria-hidden", "true");
    this.detail = h("div", { id: "detail", role: "region", "aria-label": "The selected change", "aria-live": "polite" });
    this.element = h("div", { id: "tree-view", hidden: true }, this.toolbar(),
      h("div", { id: "trees" },
        h("h3", { class: "t-before" }, "Before"),
        h("span", {}),
        h("h3", { class: "t-after" }, "After"),
        this.before.pane, this.lines, this.after.pane),
      this.detail);
    new ResizeObserver(() => this.resized()).observe(this.before.pane);
    this.say(null);
  }

  toolbar() {
    const box = (text, isOn, change) =>
      h("label", {}, h("input", { type: "checkbox", checked: isOn, onchange: (event) => change(event.target.checked) }), " " + text);
    const tools = h("div", { class: "tree-tools" });
    if (environments.length > 1) {
      this.chooser = h("select", { onchange: (event) => this.show(Number(event.target.value)) },
        ...environments.map((environment, at) => h("option", { value: at }, environment.name)));
      tools.append(h("label", {}, "Environment ", this.chooser));
    }
    tools.append(
      box("Show what stays as it is", false, (isOn) => {
        this.showsSame = isOn;
        this.refresh();
      }),
      box("Scroll and open together", true, (isOn) => (this.together = isOn)),
      h("span", { class: "q" }, "Arrows walk, Enter shows, Shift+Enter goes to the other side"),
    );
    return tools;
  }

  /** Shows an environment. */
  show(number) {
    this.environment = environments[number];
    if (this.chooser) this.chooser.value = String(number);
    this.selected = null;
    this.say(null);
    this.before.plant(this.environment);
    this.after.plant(this.environment);
    this.moves = this.environment.items.filter((item) => item.isMoved);
    this.refresh();
  }

  /** Takes over what is asked for. Whatever is wanted comes into sight, if it is not too much. */
  refresh() {
    if (!this.environment) return;
    for (const tree of [this.before, this.after]) {
      tree.count(tree.root);
      if (isAsking() && tree.root.shown <= OPEN_CHANGES) {
        for (const item of this.environment.items) if (item.isShown) tree.uncover(item);
      }
    }
    this.redraw();
  }

  redraw() {
    if (!this.environment || this.element.hidden) return;
    this.before.layOut();
    this.after.layOut();
    this.drawMoves();
  }

  resized() {
    if (!this.environment || this.element.hidden) return;
    this.before.draw();
    this.after.draw();
    this.drawMoves();
  }

  other(tree) {
    return tree === this.before ? this.after : this.before;
  }

  /** Says what is known of a node, and takes its counterpart into sight. */
  select(node, tree) {
    this.selected = node;
    const { item } = node;
    const other = this.other(tree);
    const counterpart = item ? other.nodes.get(item) : null;
    if (counterpart && counterpart.shown > 0) {
      other.uncover(item);
      other.layOut();
      this.quietly(other, () => other.activate(counterpart, false));
    }
    for (const one of [this.before, this.after]) {
      for (const [shown, element] of one.elements) {
        const isSelected = shown === node || (item !== null && shown.item === item);
        element.setAttribute("aria-selected", String(isSelected));
      }
    }
    this.say(node);
    this.drawMoves();
  }

  /** Goes to the counterpart of the active node. */
  cross(tree) {
    const { item } = tree.active;
    const other = this.other(tree);
    const counterpart = item && other.nodes.get(item);
    if (!counterpart || counterpart.shown === 0) return;
    this.select(tree.active, tree);
    other.activate(other.visible(counterpart));
  }

  say(node) {
    this.detail.replaceChildren();
    if (!node) {
      this.detail.append(h("p", { class: "q" }, "Select a resource to see what happens to it."));
      return;
    }
    const { item } = node;
    if (!item) {
      const kind = node.isStack ? "Stack " : "Construct ";
      this.detail.append(h("p", {}, kind, h("code", {}, node.name), ` with ${plural(node.changed, "change")}`,
        node.high ? `, ${node.high} of high risk.` : "."));
      return;
    }
    const place = item.after ?? item.before;
    const title = h("p", {}, h("b", {}, effectWords(item)), " ", h("code", {}, shortName(place)), " ",
      h("span", { class: "t" }, item.type), " ");
    this.detail.append(title);
    const said = body(item);
    if (!said) {
      this.detail.append(h("p", { class: "q" }, `${place.stack}.${place.id}`));
      return;
    }
    title.append(h("a", { href: "#c" + item.number }, "in the list"));
    const copy = said.cloneNode(true);
    copy.removeAttribute("id");
    this.detail.append(copy);
  }

  pointed(node) {
    if (this.hovered === node) return;
    this.hovered = node;
    this.drawMoves();
  }

  scrolled(tree) {
    tree.draw();
    if (tree.isQuiet) tree.isQuiet = false;
    else if (this.together) this.follow(tree);
    this.drawMoves();
  }

  /** Scrolls a tree without the other one following. */
  quietly(tree, scroll) {
    const before = tree.pane.scrollTop;
    scroll();
    if (tree.pane.scrollTop !== before) tree.isQuiet = true;
  }

  /** Scrolls the other tree so that what stays where it is stands side by side. */
  follow(tree) {
    const other = this.other(tree);
    const top = tree.pane.scrollTop;
    const middle = Math.floor((top + tree.pane.clientHeight / 3) / ROW);
    for (let distance = 0; distance < 30; distance++) {
      for (const row of [middle - distance, middle + distance]) {
        const node = tree.rows[row];
        const twin = node && this.twin(node, other);
        if (twin && twin.row >= 0) {
          this.quietly(other, () => (other.pane.scrollTop = top + (twin.row - row) * ROW));
          other.draw();
          return;
        }
      }
    }
  }

  /** What is at the same place of the other tree. */
  twin(node, other) {
    const names = [];
    for (let one = node; one.parent; one = one.parent) names.unshift(one.name);
    return names.reduce((one, name) => one?.children.get(name), other.root) ?? null;
  }

  /** Draws a line for each pair of rows between which something moved, as far as one is in sight. */
  drawMoves() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.lines.replaceChildren(...this.pairs().map((pair) => this.line(pair)));
    });
  }

  pairs() {
    const pairs = new Map();
    for (const item of this.moves ?? []) {
      if (!item.isShown) continue;
      const left = this.before.visible(this.before.nodes.get(item));
      const right = this.after.visible(this.after.nodes.get(item));
      if (!left || !right) continue;
      const key = left.row * 1e6 + right.row;
      const pair = pairs.get(key) ?? { left, right, items: [] };
      pair.items.push(item);
      pairs.set(key, pair);
    }
    const { clientHeight } = this.lines;
    const isIn = (y) => y > -ROW && y < clientHeight + ROW;
    const shown = [];
    for (const pair of pairs.values()) {
      pair.from = pair.left.row * ROW + ROW / 2 - this.before.pane.scrollTop;
      pair.to = pair.right.row * ROW + ROW / 2 - this.after.pane.scrollTop;
      if (isIn(pair.from) || isIn(pair.to)) shown.push(pair);
      if (shown.length >= LINES) break;
    }
    return shown;
  }

  line({ left, right, from, to, items }) {
    const width = this.lines.clientWidth;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", `M0,${from} C${width / 2},${from} ${width / 2},${to} ${width},${to}`);
    const classes = [];
    const isFar = (y) => y < 0 || y > this.lines.clientHeight;
    if (isFar(from) || isFar(to)) classes.push("far");
    if (items.some((item) => item.effect === "replace")) classes.push("replace");
    if (items.some((item) => item.risk === "high")) classes.push("high");
    const isOn = (node) => node && (node === left || node === right);
    if (isOn(this.hovered) || isOn(this.selected)) classes.push("on");
    path.setAttribute("class", classes.join(" "));
    path.setAttribute("stroke-width", String(1.5 + Math.min(4, Math.log2(items.length))));
    return path;
  }
}

