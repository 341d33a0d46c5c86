import { lakePathOf } from '../../../src/lake/delta/data-file.js';
import { accountOf } from '../../../src/lake/catalog/change.js';
import type { LoadKey } from '../../../src/lake/catalog/load-key.js';
import { dayMs, type Window } from '../../../src/core/windows.js';
import { Violation } from '../../lake/simulation/violation.js';
import { Multiset, multisetOf, type AnswerLog } from '../world/answers.js';
import type { WatchedCommit } from './catalog-watch.js';
import type { Process } from '../world/world.js';
import { mainTables, type StoredRows } from './stored-rows.js';

/** The pipeline of each compared table, and how its answers are named. */
const pipelines = {
  events: { pipeline: 'financial-events', question: 'events' },
  group_events: { pipeline: 'group-events', question: 'group' },
  transactions: { pipeline: 'transactions', question: 'transactions' },
} as const;

interface RowWatchOptions {
  readonly rows: StoredRows;
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly answersOf: (account: string) => AnswerLog;
  /** All events that an account's service would answer for a window at an instant. */
  readonly textsOf: (account: string, window: Window, asOf: number) => Promise<readonly string[]>;
  /** Whether a fault has broken chains of pages of a process. */
  readonly isStruck: (process: Process) => boolean;
  /** Files that the simulation has damaged. */
  readonly damaged: ReadonlySet<string>;
  /** How long before a process began its answers may have been received by another one, milliseconds. */
  readonly inheritedMs: number;
}

/**
 * What each load key has brought, commit by commit: the rows of a window or a settlement are those of a whole answer to exactly that
 * question, which the committing process or one before it received.
 */
export class RowWatch {
  readonly #options: RowWatchOptions;
  /** Rows of each answer, by account, table and answer. */
  readonly #stored = new Map<string, Multiset>();
  /** What these must be, by load keys of the API. */
  readonly #expected = new Map<string, string>();
  /** Answers of imported rows. */
  readonly #imported = new Set<string>();
  /** Load keys that were compared. */
  compared = 0;

  constructor(options: RowWatchOptions) {
    this.#options = options;
  }

  /** Checks a commit. Commits must come in their order. */
  async committed({ commit, process }: WatchedCommit): Promise<void> {
    const { value } = commit;
    const touched = new Set<string>();
    for (const table of mainTables) {
      const { add = [], remove = [] } = value.tables[table] ?? {};
      for (const file of remove) await this.#change(table, file, -1, touched);
      for (const file of add) await this.#change(table, file, 1, touched);
    }
    const isForgetting = value.operation === 'DELETE';
    for (const id of value.keys?.delete ?? []) {
      const name = nameOf(id);
      if (name === undefined) continue;
      this.#expected.delete(name);
      touched.add(name);
    }
    for (const key of value.keys?.set ?? []) {
      const name = nameOf(key);
      if (name === undefined) continue;
      touched.add(name);
      if (key.origin === 'import') this.#imported.add(name);
      else if (key.holes !== undefined) this.#expected.delete(name);
      // A sync composes windows of transactions from the lists of deferred and released ones.
      else if (key.pipeline === 'transactions' && process?.command !== 'backfill') this.#expected.delete(name);
      else await this.#expect(name, key, process, value.at);
    }
    for (const name of touched) {
      const found = (this.#stored.get(name) ?? new Multiset()).key();
      if (isForgetting) {
        if (this.#expected.has(name)) this.#expected.set(name, found);
        continue;
      }
      const expected = this.#expected.get(name);
      if (expected === undefined || expected === found) continue;
      throw new Violation(
        `version ${value.version} (${value.operation}) has ${found} rows of ${name}, expected ${expected}`,
      );
    }
  }

  /** All rows of a table and account. */
  total(account: string, table: string): Multiset {
    const all = new Multiset();
    for (const [name, rows] of this.#stored) if (name.startsWith(`${account} ${table} `)) all.addAll(rows);
    return all;
  }

  /** The rows of a table and account whose windows lie in a range, milliseconds since 1970. */
  totalWithin(account: string, table: string, from: number, to: number): Multiset {
    const all = new Multiset();
    const prefix = `${account} ${table} `;
    for (const [name, rows] of this.#stored) {
      if (!name.startsWith(prefix)) continue;
      const [start = NaN, end = NaN] = name.slice(prefix.length).split('/').map(Number);
      if (start >= from && end <= to) all.addAll(rows);
    }
    return all;
  }

  /** A run that has ended well has stored what it was answered, also where nothing was committed for it. */
  checkAnswered(account: string, startedAt: number): void {
    const answers = this.#options.answersOf(account);
    for (const [name, expected] of this.#expected) {
      const prefix = `${account} events `;
      if (!name.startsWith(prefix)) continue;
      const answered = answers.since(`events ${name.slice(prefix.length)}`, startedAt).map((one) => one.key());
      if (answered.length > 0 && !answered.includes(expected))
        throw new Violation(`the lake has ${expected} rows of ${name}, the run was answered ${answered.join(', ')}`);
    }
  }

  /** In a range that is loaded no imported row stays. Milliseconds since 1970. */
  checkImports(account: string, table: string, range: Window): void {
    const prefix = `${account} ${table} `;
    for (const [name, rows] of this.#stored) {
      if (!name.startsWith(prefix) || this.#expected.has(name) || rows.count === 0) continue;
      const [start = NaN, end = NaN] = name.slice(prefix.length).split('/').map(Number);
      if (this.#imported.has(name) && start >= range.start && end <= range.end)
        throw new Violation(`${rows.count} imported rows of ${name} stay, which is loaded`);
    }
  }

  async #change(
    table: string,
    file: { readonly path: string; readonly partitionValues: Record<string, string | null> },
    times: number,
    touched: Set<string>,
  ): Promise<void> {
    const { rows, files, damaged } = this.#options;
    const path = lakePathOf(table, file);
    const bytes = files.get(path);
    if (bytes === undefined && times > 0) throw new Violation(`${path} is gone before it was compared`);
    if (damaged.has(path) && times > 0) return;
    for (const [answer, set] of await rows.of(table, path, bytes ?? new Uint8Array())) {
      const name = `${accountOf(file)} ${table} ${answer}`;
      const stored = this.#stored.get(name) ?? new Multiset();
      this.#stored.set(name, stored.addAll(set, times));
      touched.add(name);
    }
    if (times < 0) rows.drop(path);
  }

  /** Notes what a load key has brought: one of the whole answers that its process can have. */
  async #expect(name: string, key: LoadKey, process: Process | undefined, at: number): Promise<void> {
    const { answersOf, inheritedMs, isStruck } = this.#options;
    const { question } = Object.values(pipelines).find(({ pipeline }) => pipeline === key.pipeline) ?? { question: '' };
    const answers = answersOf(key.account);
    const since = (process?.startedAt ?? at - dayMs) - inheritedMs;
    const found = (this.#stored.get(name) ?? new Multiset()).key();
    const candidates =
      key.window === undefined
        ? answers.since(`${question} ${key.key.slice(key.key.indexOf('/') + 1)}`, since)
        : answers.tiling(question, key.window, since);
    this.compared++;
    const chosen = candidates.map((one) => one.key());
    const isBroken = process === undefined || isStruck(process);
    if (isBroken && !chosen.includes(found) && key.window !== undefined && question === 'events') {
      // A chain that broke was taken up by others, which have parts of the window.
      for (const asOf of answers.begun(question, key.window, since)) {
        chosen.push(multisetOf(await this.#options.textsOf(key.account, key.window, asOf)).key());
      }
    }
    // The newest one, where none fits: what is reported as expected.
    const expected = chosen.find((one) => one === found) ?? chosen.at(-1) ?? 'no whole answer';
    this.#expected.set(name, expected);
  }
}

/** The account, table and answer of a load key; undefined for one that isn't compared. */
function nameOf({ account, pipeline, key }: Pick<LoadKey, 'account' | 'pipeline' | 'key'>): string | undefined {
  const found = Object.entries(pipelines).find(([, one]) => one.pipeline === pipeline);
  if (found === undefined) return undefined;
  const [kind, ...rest] = key.split('/');
  const answer = kind === 'group' ? rest.join('/') : rest.map((text) => String(Date.parse(text))).join('/');
  return `${account} ${found[0]} ${answer}`;
}
