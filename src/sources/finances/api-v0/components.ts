import { FixedText, type JsonBytes } from '../../../core/json/text.js';

/** Maximum of known components of one array: a record has some dozens of types, each in the seller's currencies. */
const mostKnown = 256;

/** Maximum of remembered followers of a component: the fees of two items differ. */
const mostFollowers = 8;

/** A type and its amount, `{"FeeType":"Commission","FeeAmount":{…}}`, identified by its bytes up to the amount's number. */
export class Component<Path> {
  /** The path of its amount. */
  readonly path: Path;
  readonly type: string;
  /** Of its currency. */
  readonly code: string;
  readonly text: FixedText;
  /** The components that followed it, the latest first. */
  readonly followers: Component<Path>[] = [];
  /** Numbers of its type and its currency, assigned on its first use in a generation of rows. */
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
 * The components of one array. They mostly repeat in the same order, with the same bytes except for the number: a comparison of
 * bytes replaces reading keys, type and currency.
 */
export class Components<Path extends { readonly list: { size: number } }> {
  readonly #known = new Map<string, Component<Path>>();
  /** The first components of arrays, the latest first. */
  readonly #first: Component<Path>[] = [];

  /** The component that begins at a byte, if it recently followed `before`; `before` undefined: the first element. */
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

  /** The known component with a text. */
  known(text: string): Component<Path> | undefined {
    return this.#known.get(text);
  }

  /** Adds a new component; undefined at the maximum. */
  add(text: string, path: Path, type: string, code: string): Component<Path> | undefined {
    if (this.#known.size === mostKnown) return undefined;
    const component = new Component(path, type, code, text);
    this.#known.set(text, component);
    path.list.size++;
    return component;
  }

  /** Records that a component followed `before`. */
  addFollower(component: Component<Path>, before: Component<Path> | undefined): Component<Path> {
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
