import { FixedText, type JsonBytes } from '../../../core/json/text.js';

/** Components that are known of one array: a record has some dozens of types, each in the currencies of a seller. */
const mostKnown = 256;

/** What lately came behind a component: the fees of two items differ. */
const mostFollowers = 8;

/** A type and its amount, `{"FeeType":"Commission","FeeAmount":{…}}`, known by its bytes up to the amount's number. */
export class Component<Path> {
  /** The path of its amount. */
  readonly path: Path;
  readonly type: string;
  /** Of its currency. */
  readonly code: string;
  readonly text: FixedText;
  /** Those that came behind it, the last one first. */
  readonly followers: Component<Path>[] = [];
  /** Numbers of its type and its currency, given when it first comes in a generation of rows. */
  name = -1;
  currency = -1;
  numberedIn = -1;

  constructor(path: Path, type: string, code: string, text: string) {
    this.path = path;
    this.type = type;
    this.code = code;
    this.text = new FixedText(text);
  }
}

/**
 * The components of one array. They mostly come in the order of before, and their bytes are the same but for the number: a
 * comparison of bytes replaces reading keys, type and currency.
 */
export class Components<Path extends { readonly list: { size: number } }> {
  readonly #known = new Map<string, Component<Path>>();
  /** Those that an array began with, the last one first. */
  readonly #first: Component<Path>[] = [];

  /** The component that begins at a byte, if it came behind `before` lately; undefined `before` at the array's beginning. */
  at(json: JsonBytes, start: number, before: Component<Path> | undefined): Component<Path> | undefined {
    const candidates = before === undefined ? this.#first : before.followers;
    for (let tried = 0; tried < candidates.length; tried++) {
      const component = candidates[tried];
      if (component?.text.matchesAt(json, start) !== true) continue;
      if (tried > 0) moveToFront(candidates, tried, component);
      return component;
    }
    return undefined;
  }

  /** The component that was read before with a text. */
  known(text: string): Component<Path> | undefined {
    return this.#known.get(text);
  }

  /** A component that is read for the first time; undefined where more are known than are worth it. */
  add(text: string, path: Path, type: string, code: string): Component<Path> | undefined {
    if (this.#known.size === mostKnown) return undefined;
    const component = new Component(path, type, code, text);
    this.#known.set(text, component);
    path.list.size++;
    return component;
  }

  /** Takes note that a component came behind `before`. */
  met(component: Component<Path>, before: Component<Path> | undefined): Component<Path> {
    const candidates = before === undefined ? this.#first : before.followers;
    const index = candidates.indexOf(component);
    moveToFront(candidates, index < 0 ? Math.min(candidates.length, mostFollowers - 1) : index, component);
    return component;
  }
}

function moveToFront<Of>(components: Of[], index: number, component: Of): void {
  for (let at = index; at > 0; at--) components[at] = components[at - 1] ?? component;
  components[0] = component;
}
