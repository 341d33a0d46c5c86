import { hash } from 'node:crypto';
import type { BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';

/** A multiset of texts, as their number and a sum of their hashes: two are equal where both are. */
export class Multiset {
  count = 0;
  #sum = 0n;

  add(text: string, times = 1): this {
    this.count += times;
    this.#sum = (this.#sum + BigInt(times) * numberOf(text)) & mask;
    return this;
  }

  addAll(other: Multiset, times = 1): this {
    this.count += times * other.count;
    this.#sum = (this.#sum + BigInt(times) * other.#sum) & mask;
    return this;
  }

  key(): string {
    return `${this.count}/${this.#sum.toString(16)}`;
  }
}

const mask = (1n << 64n) - 1n;

function numberOf(text: string): bigint {
  return Buffer.from(hash('md5', text), 'hex').readBigUInt64LE();
}

export function multisetOf(texts: Iterable<string>): Multiset {
  const set = new Multiset();
  for (const text of texts) set.add(text);
  return set;
}

/** A chain of pages, as the backend has answered it. */
interface Chain {
  readonly asOf: number;
  readonly pages: Map<string, { readonly texts: readonly string[]; readonly next: string | undefined }>;
}

/** What a backend has answered, by question and chain. */
export class AnswerLog {
  readonly #chains = new Map<string, Chain[]>();

  /** @param question such as `events START/END` */
  note(question: string, { cursor = '', asOf }: BackendQuery, { items, next }: BackendPage): void {
    const chains = this.#chains.get(question) ?? [];
    this.#chains.set(question, chains);
    let chain = chains.find((one) => one.asOf === asOf);
    if (chain === undefined) chains.push((chain = { asOf, pages: new Map() }));
    chain.pages.set(cursor, { texts: items.map(({ json }) => json), next });
  }

  /** The whole answers to a question that were begun at an instant or later. */
  since(question: string, instant: number): Multiset[] {
    return (this.#chains.get(question) ?? []).flatMap((chain) => {
      if (chain.asOf < instant) return [];
      const texts = textsOf(chain);
      return texts === undefined ? [] : [multisetOf(texts)];
    });
  }

  /**
   * What whole answers about a window came to, from an instant on: to the question about all of it, or to questions about its parts.
   */
  tiling(kind: string, window: { readonly start: number; readonly end: number }, instant: number): Multiset[] {
    const whole = this.since(`${kind} ${window.start}/${window.end}`, instant);
    return whole.length > 0 ? whole : this.#parts(kind, window.start, window.end, instant).slice(0, 64);
  }

  #parts(kind: string, start: number, end: number, instant: number): Multiset[] {
    if (start === end) return [new Multiset()];
    const prefix = `${kind} ${start}/`;
    return [...this.#chains.keys()].flatMap((question) => {
      if (!question.startsWith(prefix)) return [];
      const to = Number(question.slice(prefix.length));
      if (!(to > start && to <= end)) return [];
      const rest = this.#parts(kind, to, end, instant);
      return this.since(question, instant).flatMap((one) =>
        rest.map((other) => new Multiset().addAll(one).addAll(other)),
      );
    });
  }

  /** When chains began that asked for a part of a window, from an instant on. */
  begun(kind: string, window: { readonly start: number; readonly end: number }, instant: number): number[] {
    const found = new Set<number>();
    for (const [question, chains] of this.#chains) {
      if (!question.startsWith(`${kind} `)) continue;
      const [start = NaN, end = NaN] = question
        .slice(kind.length + 1)
        .split('/')
        .map(Number);
      if (!(start >= window.start && end <= window.end)) continue;
      for (const { asOf } of chains) if (asOf >= instant) found.add(asOf);
    }
    return [...found];
  }

  /** Drops what was answered before an instant. */
  forgetBefore(instant: number): void {
    for (const [question, chains] of this.#chains) {
      const left = chains.filter(({ asOf }) => asOf >= instant);
      if (left.length === 0) this.#chains.delete(question);
      else this.#chains.set(question, left);
    }
  }
}

/** All of a chain; undefined where a page is missing. */
function textsOf({ pages }: Chain): string[] | undefined {
  const texts: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = pages.get(cursor);
    if (page === undefined) return undefined;
    for (const text of page.texts) texts.push(text);
    cursor = page.next;
  }
  return texts;
}
