import { overlap, type Window } from '../../../src/core/windows.js';
import { derived, difference, history, type Row } from './rows.js';
import { Violation } from './violation.js';

/** What an operation means, as its writer says when it decides. */
export type Meaning =
  | {
      readonly kind: 'load' | 'refresh';
      readonly account: string;
      readonly key: string;
      readonly window: Window;
      readonly rows: readonly Row[];
    }
  | { readonly kind: 'import'; readonly account: string; readonly days: ReadonlyMap<number, readonly Row[]> }
  | { readonly kind: 'drop'; readonly account: string; readonly keys: readonly string[]; readonly isHistory: boolean }
  | { readonly kind: 'nothing' };

interface LoadedKey {
  readonly origin: 'api' | 'import';
  readonly account: string;
  readonly key: string;
  readonly window: Window;
  readonly texts: readonly string[];
}

export function importedKey(day: number): string {
  return `imported/${day}`;
}

/**
 * What the lake should have, by what operations mean, one after the other: written without the code under test. It knows
 * no files.
 */
export class SequentialModel {
  readonly #keys = new Map<string, LoadedKey>();
  #history: string[] | undefined = [];

  apply(meaning: Meaning): void {
    if (meaning.kind === 'load' || meaning.kind === 'refresh') this.#load(meaning);
    if (meaning.kind === 'import') this.#import(meaning);
    if (meaning.kind === 'drop') {
      for (const key of meaning.keys) if (!meaning.isHistory) this.#keys.delete(`${meaning.account} ${key}`);
      // Which rows a damaged file had is unknown from then on.
      if (meaning.isHistory) this.#history = undefined;
    }
  }

  #load({ kind, account, key, window, rows }: Extract<Meaning, { kind: 'load' | 'refresh' }>): void {
    const id = `${account} ${key}`;
    const stored = this.#keys.get(id);
    if ((kind === 'load') !== (stored === undefined)) {
      throw new Violation(`a ${kind} of ${id} was committed, which was ${stored === undefined ? 'not ' : ''}loaded`);
    }
    for (const [other, one] of [...this.#keys]) {
      if (other === id || one.account !== account || !overlap(one.window, window)) continue;
      if (one.origin === 'api') throw new Violation(`${id} was loaded beside ${other}, which overlaps it`);
      this.#keys.delete(other);
    }
    const texts = rows.map(({ day, c }) => `${day} ${c}`);
    if (stored !== undefined) {
      this.#history?.push(...difference(stored.texts, texts).map((text) => `removed ${text}`));
      this.#history?.push(...difference(texts, stored.texts).map((text) => `added ${text}`));
    }
    this.#keys.set(id, { origin: 'api', account, key, window, texts });
  }

  #import({ account, days }: Extract<Meaning, { kind: 'import' }>): void {
    for (const [day, rows] of days) {
      const window = { start: day, end: day + 1 };
      const others = [...this.#keys.values()].filter((one) => one.account === account && one.origin === 'api');
      if (others.some((one) => overlap(one.window, window))) continue;
      const key = importedKey(day);
      const stored = this.#keys.get(`${account} ${key}`)?.texts ?? [];
      const texts = rows.map(({ c }) => `${day} ${c}`);
      const all = [...stored, ...difference(texts, stored)];
      this.#keys.set(`${account} ${key}`, { origin: 'import', account, key, window, texts: all });
    }
  }

  /** Account and key of what is loaded. */
  loaded(): string[] {
    return [...this.#keys.keys()].toSorted();
  }

  /** The rows of a table as `textOf` gives them, sorted; undefined where they are unknown. */
  rows(table: string): string[] | undefined {
    if (table === history) return this.#history?.toSorted();
    const all = [...this.#keys.values()].flatMap(({ account, key, texts }) =>
      texts.map((text) => `${account} ${key} ${text}`),
    );
    return (table === derived ? [...all, ...all] : all).toSorted();
  }
}
