import { Int32List } from '../../../core/columns/memory.js';
import { none, type EntryRows } from '../model/slice-rows.js';

const two32 = 0x1_0000_0000;

/** Currency of an empty sum. */
const noneYet = -2;

/**
 * The amounts of one transaction as two trees: its items, and its breakdowns. A node has a row in `entries`, or the sum of its
 * children.
 *
 * Sums are exact: the halves of millionths are added separately, and stay below 2^53 for all amounts that fit one text. An amount
 * that is not exact to a millionth is NaN, and so is a sum of several currencies: neither equals any other sum.
 */
export class AmountTree {
  length = 0;
  readonly #parent = new Int32List();
  readonly #row = new Int32List();
  /** Number of children with an amount, 0.00 included. */
  readonly #children = new Int32List();
  /** The sum of the children. */
  readonly #low: number[] = [];
  readonly #high: number[] = [];
  readonly #currency = new Int32List();
  /** 1 where there are children and they add up to the node. */
  readonly #addsUp = new Int32List();
  readonly #isNet = new Int32List();

  /** The tree of the items, whose children are the items. */
  readonly items = 0;
  /** The tree of the transaction's breakdowns. */
  readonly breakdowns = 1;

  /** Begins the next transaction. */
  begin(): void {
    this.length = 0;
    for (const list of [this.#parent, this.#row, this.#children, this.#currency, this.#addsUp, this.#isNet]) {
      list.truncate(0);
    }
    this.add(none);
    this.add(none);
  }

  /** Adds a node below an existing one; returns its number. */
  add(parent: number): number {
    this.#parent.push(parent);
    this.#row.push(none);
    this.#children.push(0);
    this.#low[this.length] = 0;
    this.#high[this.length] = 0;
    this.#currency.push(noneYet);
    this.#addsUp.push(0);
    this.#isNet.push(0);
    return this.length++;
  }

  /** Sets the row with the amount of a node. */
  setRow(node: number, row: number): void {
    this.#row.set(node, row);
  }

  /** Adds up the children of every node, after the last one was added. */
  addUp(entries: EntryRows): void {
    for (let node = this.length - 1; node >= 0; node--) {
      const row = this.#row.get(node);
      let low = this.#low[node] ?? 0;
      let high = this.#high[node] ?? 0;
      let currency = this.#currency.get(node);
      const hasChildren = this.#children.get(node) > 0;
      if (row === none) {
        // Without an amount the children can't differ from it; but a transaction must have one.
        if (!hasChildren || node <= this.breakdowns) continue;
        this.#addsUp.set(node, 1);
      } else {
        const isExact = entries.exact[row] === 1;
        const amountLow = isExact ? (entries.low[row] ?? 0) >>> 0 : NaN;
        const amountHigh = entries.high[row] ?? 0;
        const carry = Math.floor(low / two32);
        const isEqual = low - carry * two32 === amountLow && high + carry === amountHigh;
        if (hasChildren && isEqual && currency === entries.currency[row]) this.#addsUp.set(node, 1);
        [low, high, currency] = [amountLow, amountHigh, entries.currency[row] ?? none];
      }
      const parent = this.#parent.get(node);
      if (parent !== none) this.#addTo(parent, low, high, currency);
    }
  }

  #addTo(parent: number, low: number, high: number, currency: number): void {
    this.#children.set(parent, this.#children.get(parent) + 1);
    const known = this.#currency.get(parent);
    if (known === noneYet) this.#currency.set(parent, currency);
    this.#low[parent] = known === noneYet || known === currency ? (this.#low[parent] ?? 0) + low : NaN;
    this.#high[parent] = (this.#high[parent] ?? 0) + high;
  }

  hasChildren(node: number): boolean {
    return this.#children.get(node) > 0;
  }

  /** Whether there are children and they add up to the node. */
  addsUp(node: number): boolean {
    return this.#addsUp.get(node) === 1;
  }

  /** Visits the row of each node of a root's cut: the amounts that add up to the root's. */
  cut(root: number, visit: (row: number) => void): void {
    this.#isNet.set(root, 1);
    for (let node = root; node < this.length; node++) {
      const parent = this.#parent.get(node);
      if (parent !== none) this.#isNet.set(node, this.#isNet.get(parent) & this.#addsUp.get(parent));
      const row = this.#row.get(node);
      if (row !== none && this.#isNet.get(node) === 1 && this.#addsUp.get(node) === 0) visit(row);
    }
  }
}
