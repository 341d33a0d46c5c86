import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../src/core/clock.js';
import { importPages } from '../../../src/app/import/import-pages.js';
import type { ImportPagesOptions } from '../../../src/app/import/import-run.js';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { ended } from '../ended.js';
import { temporaryFolder } from '../lake-run.js';
import type { DatedItem } from '../../serve/http/array-backend.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

/** What a service answered on every page of a question, asked with nothing but `fetch`. */
export async function fetchedBodies(
  url: string,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<string[]> {
  const bodies: string[] = [];
  for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
    const asked = new URLSearchParams({ ...query, ...(token !== undefined && { NextToken: token }) });
    const response = await fetch(`${url}${path}?${asked.toString()}`);
    const text = await response.text();
    if (response.status !== 200) throw new Error(text);
    bodies.push(text);
    token = (JSON.parse(text) as { payload: { NextToken?: string } }).payload.NextToken;
  }
  return bodies;
}

/** A file of lines in a folder of its own. */
export async function fileOf(lines: readonly string[] | Buffer, name = 'pages.ndjson'): Promise<string> {
  const path = join(await temporaryFolder(), name);
  await writeFile(path, Buffer.isBuffer(lines) ? lines : lines.map((line) => `${line}\n`).join(''));
  return path;
}

/** A body with events, as the service writes it. */
export function eventsBody(items: readonly Pick<DatedItem, 'list' | 'json'>[], token?: string): string {
  const lists = new Map<string, string[]>();
  for (const { list, json } of items) lists.set(list, [...(lists.get(list) ?? []), json]);
  const text = [...lists].map(([list, events]) => `${JSON.stringify(list)}:[${events.join(',')}]`).join(',');
  return `{"payload":{${token === undefined ? '' : `"NextToken":${JSON.stringify(token)},`}"FinancialEvents":{${text}}}}`;
}

/** A body with groups. */
export function groupsBody(items: readonly Pick<DatedItem, 'json'>[]): string {
  return `{"payload":{"FinancialEventGroupList":[${items.map(({ json }) => json).join(',')}]}}`;
}

export interface Imported {
  readonly printed: string;
  readonly logged: string;
  /** What it failed with. */
  readonly failure: unknown;
  readonly summary: {
    readonly status: string;
    readonly skipped_lines: number;
    readonly pipelines: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly imported: Readonly<Record<string, { known: number; left_out: number; left_out_days: number }>>;
  };
}

/** Imports files into a lake; what it throws once it has begun is in what comes back. */
export async function imported(
  {
    root,
    clock,
    signal = new AbortController().signal,
  }: { readonly root: string; readonly clock: Clock; readonly signal?: AbortSignal },
  files: readonly string[],
  options: Partial<ImportPagesOptions> = {},
): Promise<Imported> {
  const logged: string[] = [];
  const stdin = (): never => {
    throw new Error('nothing on standard input');
  };
  const { printed, failure, summary } = await ended(
    importPages(
      { lake: root, account: 'demo', files, stdin, skipBroken: false, ...options },
      { clock, signal, emit: plainLog((line) => logged.push(line), { verbose: true }) },
    ),
  );
  if (summary === undefined) throw failure;
  return { printed, logged: logged.join('\n'), failure, summary: summary as Imported['summary'] };
}

/** Rows of one query that another lacks, both ways, as a multiset: 0 and 0 where they are the same. */
export async function differing(database: Database, one: string, other: string): Promise<[number, number]> {
  const count = async (a: string, b: string) => {
    const [row] = await database.rows(`SELECT count(*) AS found FROM (${a} EXCEPT ALL ${b})`);
    return Number(row?.['found']);
  };
  return [await count(one, other), await count(other, one)];
}

/** A single value of a query. */
export async function value(database: Database, sql: string): Promise<string> {
  const [row] = await database.rows(sql);
  return String(Object.values(row ?? {})[0]);
}
