import type { Draft, LineKind, Weight } from './event-writer.js';

/** Adds up what an event brings and takes, and nothing else. */
export class SumDraft implements Draft {
  /** Millionths since `begin`: one event's, far below 2^53. */
  sum = 0;

  begin(): void {
    this.sum = 0;
  }

  net(_key: string, millionths: number): void {
    this.sum += millionths;
  }

  line(_kind: LineKind, _type: string, millionths: number, weight: Weight): void {
    if (weight === 'net') this.sum += millionths;
  }

  memo(): void {
    // Counted by other amounts.
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

  beginObject(): void {
    // No money.
  }

  endObject(): void {
    // No money.
  }

  beginList(): void {
    // No money.
  }

  beginElement(): void {
    // No money.
  }

  endElement(): void {
    // No money.
  }

  endList(): void {
    // No money.
  }
}
