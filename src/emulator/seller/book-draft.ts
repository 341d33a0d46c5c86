import type { Draft, LineKind, Weight } from './event-writer.js';

export interface BookedAmount {
  /** Relative to the event; `[]` marks an element of an array. */
  readonly path: string;
  readonly role: Weight;
  /** Millionths. */
  readonly micros: bigint;
}

/** Lists the amounts of an event with their places, in the order of the event's JSON. */
export class BookDraft implements Draft {
  #amounts: BookedAmount[] = [];
  #places: string[] = [];

  /** The amounts since `begin`. */
  get amounts(): readonly BookedAmount[] {
    return this.#amounts;
  }

  begin(): void {
    this.#amounts = [];
    this.#places = [];
  }

  net(key: string, millionths: number): void {
    this.#book(key, 'net', millionths);
  }

  memo(key: string, millionths: number): void {
    this.#book(key, 'memo', millionths);
  }

  line(kind: LineKind, _type: string, millionths: number, weight: Weight): void {
    this.#book(`${kind}Amount`, weight, millionths);
  }

  beginObject(key: string): void {
    this.#places.push(key);
  }

  endObject(): void {
    this.#places.pop();
  }

  beginList(key: string): void {
    this.#places.push(`${key}[]`);
  }

  endList(): void {
    this.#places.pop();
  }

  beginElement(): void {
    // An element has no name of its own.
  }

  endElement(): void {
    // An element has no name of its own.
  }

  text(): void {
    // No money.
  }

  words(): void {
    // No money.
  }

  number(): void {
    // No money.
  }

  instant(): void {
    // No money.
  }

  order(): void {
    // No money.
  }

  #book(key: string, role: Weight, millionths: number): void {
    this.#amounts.push({ path: [...this.#places, key].join('.'), role, micros: BigInt(millionths) });
  }
}
