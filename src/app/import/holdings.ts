import type { IdList, IdLog } from './id-log.js';

/** Events that are together in one file of the lake, or on their way there, or that didn't have to come in. */
export class Holding {
  /** How many there had been before. */
  readonly order: number;
  /** Number of the input that brought them; undefined for a file that was in the lake. */
  readonly input: number | undefined;
  /** Whether the lake holds them, or will unless the import ends before. */
  isHeld: boolean;
  readonly lists: IdList[] = [];
  /** Start of the first of their days, and of the last one. */
  first = Infinity;
  last = -Infinity;
  /** Of their file, within its table, as soon as it is about to be committed. */
  path: string | undefined;
  isCommitted = false;

  constructor(order: number, input: number | undefined, isHeld: boolean) {
    this.order = order;
    this.input = input;
    this.isHeld = isHeld;
  }

  reach(day: number): void {
    this.first = Math.min(this.first, day);
    this.last = Math.max(this.last, day);
  }
}

/** All that is held, and what the present input has had. */
export class Holdings {
  /** Number of the present input. */
  input = 0;
  readonly #log: IdLog;
  readonly #all = new Set<Holding>();
  readonly #byPath = new Map<string, Holding>();
  #order = 0;

  constructor(log: IdLog) {
    this.#log = log;
  }

  /** One that doesn't count yet; `isHeld` as it has it. */
  begin(isHeld: boolean, input?: number): Holding {
    return new Holding(this.#order++, input, isHeld);
  }

  add(holding: Holding): void {
    this.#all.add(holding);
  }

  /** Those that have events between two days, by their starts. */
  *between(first: number, last: number): Generator<Holding> {
    for (const holding of this.#all) if (holding.last >= first && holding.first <= last) yield holding;
  }

  ofFile(path: string): Holding | undefined {
    return this.#byPath.get(path);
  }

  /** Tells which file the events are in, or are about to be. */
  place(holding: Holding, path: string): void {
    holding.path = path;
    this.#byPath.set(path, holding);
  }

  /** Whether a holding counts as held still. */
  counts(holding: Holding): boolean {
    return holding.isHeld && this.#all.has(holding);
  }

  /** Lets those go that meet a condition. */
  removeIf(isOver: (holding: Holding) => boolean): void {
    for (const holding of this.#all) if (isOver(holding)) this.remove(holding);
  }

  /** If its events are in the lake all the same, whoever asks for them finds a file that isn't known, and reads it. */
  remove(holding: Holding): void {
    this.#unplace(holding);
    this.#all.delete(holding);
    for (const list of holding.lists) this.#log.remove(list);
  }

  /** Takes it no longer that the lake will hold them; what the present input has had of them stays. */
  doubt(holding: Holding): void {
    if (holding.input !== this.input) {
      this.remove(holding);
      return;
    }
    this.#unplace(holding);
    holding.isHeld = false;
  }

  #unplace({ path }: Holding): void {
    if (path !== undefined) this.#byPath.delete(path);
  }
}
