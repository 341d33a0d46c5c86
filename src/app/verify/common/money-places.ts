/** What the objects at a place are: in transactions, amounts count by the items and breakdowns around them. */
export type Level = 'transaction' | 'items' | 'breakdowns' | 'other';

/** Places and numbers that are remembered at most: those of hostile events are all different. */
const mostRemembered = 100_000;

/** What is known of a key, or is made of it now and known from then on. */
export function remembered<Key, Value>(known: Map<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make(key);
  if (known.size >= mostRemembered) known.clear();
  known.set(key, made);
  return made;
}

/** Places in events. Most events have the same ones, so each is put together once. */
export class Places {
  readonly #level: Level;
  readonly #roots = new Map<string, Place>();
  #count = 0;

  /** @param level of the outermost value */
  constructor(level: Level) {
    this.#level = level;
  }

  /**
   * The place of the outermost value.
   *
   * @param owner the list of an event, or the type of a transaction
   */
  root(owner: string): Place {
    if (this.#count > mostRemembered) {
      this.#roots.clear();
      this.#count = 0;
    }
    const known = this.#roots.get(owner);
    if (known !== undefined) return known;
    const root = new Place({ owner, path: '', level: this.#level, types: [], isTotal: false }, true, this.#counted);
    this.#roots.set(owner, root);
    this.#counted();
    return root;
  }

  readonly #counted = (): void => {
    this.#count++;
  };
}

interface PlaceAttributes {
  /** The list of the event, or the type of the transaction. */
  readonly owner: string;
  /** As in the column `path`. */
  readonly path: string;
  readonly level: Level;
  /** Types of the breakdowns around it, outer before inner. */
  readonly types: readonly string[];
  /** Whether money here is the total of the transaction, item or breakdown around it. */
  readonly isTotal: boolean;
}

export class Place implements PlaceAttributes {
  readonly owner: string;
  readonly path: string;
  readonly level: Level;
  readonly types: readonly string[];
  readonly isTotal: boolean;
  readonly #isRoot: boolean;
  readonly #counted: () => void;
  readonly #members = new Map<string, Place>();
  readonly #typed = new Map<string, Place>();
  #item: Place | undefined;

  /** @param counted is called for each place below this one that is new */
  constructor({ owner, path, level, types, isTotal }: PlaceAttributes, isRoot: boolean, counted: () => void) {
    this.owner = owner;
    this.path = path;
    this.level = level;
    this.types = types;
    this.isTotal = isTotal;
    this.#isRoot = isRoot;
    this.#counted = counted;
  }

  /** The place of a member of the object. */
  member(name: string): Place {
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const path = (this.#isRoot ? name : `${this.path}.${name}`).toWellFormed();
    const isTotal = name === totals[this.level];
    const place = this.#below({ path, level: memberLevel(this.level, name), isTotal });
    this.#members.set(name, place);
    return place;
  }

  /** The place of the items of the array. */
  item(): Place {
    const level = this.level === 'transaction' ? 'other' : this.level;
    return (this.#item ??= this.#below({ path: `${this.path}[]`, level, isTotal: false }));
  }

  /** The place of a breakdown with a type. */
  typed(type: string): Place {
    const known = this.#typed.get(type);
    if (known !== undefined) return known;
    const place = this.#below({ types: [...this.types, type] });
    this.#typed.set(type, place);
    return place;
  }

  #below(changes: Partial<PlaceAttributes>): Place {
    const { owner, path, level, types, isTotal } = this;
    this.#counted();
    return new Place({ owner, path, level, types, isTotal, ...changes }, false, this.#counted);
  }
}

/** The member with the total of a transaction, item or breakdown. */
const totals: Readonly<Record<Level, string | undefined>> = {
  transaction: 'totalAmount',
  items: 'totalAmount',
  breakdowns: 'breakdownAmount',
  other: undefined,
};

function memberLevel(level: Level, name: string): Level {
  if (name === 'items' && (level === 'transaction' || level === 'items')) return 'items';
  return name === 'breakdowns' && level !== 'other' ? 'breakdowns' : 'other';
}
