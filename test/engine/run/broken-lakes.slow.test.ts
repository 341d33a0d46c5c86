import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { seal } from '../../../src/lake/catalog/commit.js';
import { hashesOf } from '../../lake/hashes-of.js';
import { globbed, truthOf } from '../../lake/lake-truth.js';
import { childRun } from './child-run.js';
import { filesOf } from './disk-lake.js';
import { folder, server, undisturbed, words, type Undisturbed } from './kill-trials.js';
import type { WatchedServer } from './watched-server.js';

const command = promisify(execFile);

let whole: Undisturbed;
beforeAll(async () => {
  whole = await undisturbed();
});
afterAll(() => whole.remove());

async function place(): Promise<{ lake: string; upstream: WatchedServer }> {
  const upstream = await server();
  const { lake, remove } = await folder();
  onTestFinished(async () => {
    await upstream.close();
    await remove();
  });
  return { lake, upstream };
}

/** The one line that a run ends with which can't go on. */
async function failure(lake: string, upstream: WatchedServer, ...more: string[]): Promise<string> {
  return failureOf(1, lake, upstream, ...more);
}

async function failureOf(exit: number, lake: string, upstream: WatchedServer, ...more: string[]): Promise<string> {
  const { code, errors } = await childRun(words(lake, upstream, ...more)).ended;
  expect(code, errors).toBe(exit);
  const lines = errors.split('\n').filter((line) => line.startsWith('ledgerlake: '));
  expect(lines, errors).toHaveLength(1);
  expect(errors).not.toMatch(/\n\s+at /);
  return lines[0] ?? '';
}

test.each([
  ['is a file', '', 2, /USAGE: expected a lake at \S+, got a file; name another with --lake$/],
  ['lies below a file', '/below', 1, /expected (a )?folder|a part of the path is a file/],
])('a lake that %s is refused before anything is asked for', async (_what, below, code, message) => {
  const { lake, upstream } = await place();
  await writeFile(lake, 'a file');
  expect(await failureOf(code, `${lake}${below}`, upstream)).toMatch(message);
  expect(upstream.asked).toEqual([]);
  expect(await readFile(lake, 'utf8')).toBe('a file');
});

/** The hash of each file, but of leases: one that has ended stays where a run ends early. */
async function keptIn(lake: string) {
  return hashesOf(new Map([...(await filesOf(lake))].filter(([path]) => !path.startsWith('_runs/'))));
}

/** The newest commit of the catalog, as a path within the lake. */
function newestCommit(files: ReadonlyMap<string, Uint8Array>): string {
  const commits = [...files.keys()].filter((path) => /^_catalog\/\d+\.json$/.test(path));
  return commits.toSorted().at(-1) ?? '';
}

test.each([
  ['in the middle', (bytes: Buffer) => bytes.length >> 1],
  ['before its seal', (bytes: Buffer) => bytes.length - 20],
  ['at its beginning', () => 0],
])('a catalog whose newest commit is cut off %s is named, and nothing is touched', async (_where, keep) => {
  const { lake, upstream } = await place();
  await cp(whole.lake, lake, { recursive: true });
  const commit = newestCommit(await filesOf(lake));
  await truncate(join(lake, commit), keep(await readFile(join(lake, commit))));
  const before = await keptIn(lake);
  expect(await failure(lake, upstream, '--refresh')).toContain(commit);
  expect(upstream.asked).toEqual([]);
  expect(await keptIn(lake)).toEqual(before);
});

test.each([
  ['format', { format: 2 }, /catalog format 1 at most in .*, got 2/],
  ['reader version', { minReaderVersion: 2 }, /catalog reader version 1 at most in .*, got 2/],
  ['writer version', { minWriterVersion: 2 }, /catalog writer version 1 at most in .*, got 2/],
])('a catalog of a newer %s says which one it wants, and nothing is touched', async (_what, newer, message) => {
  const { lake, upstream } = await place();
  await cp(whole.lake, lake, { recursive: true });
  const newest = newestCommit(await filesOf(lake));
  const { sha256: previous, ...commit } = JSON.parse(await readFile(join(lake, newest), 'utf8')) as {
    sha256: string;
    version: number;
  };
  const next = { ...commit, ...newer, version: commit.version + 1, previous, keys: {}, tables: { groups: {} } };
  const path = newest.replace(/\d{20}/, String(next.version).padStart(20, '0'));
  await writeFile(join(lake, path), seal(next).bytes);
  const before = await keptIn(lake);
  expect(await failure(lake, upstream, '--refresh')).toMatch(message);
  expect(upstream.asked).toEqual([]);
  expect(await keptIn(lake)).toEqual(before);
});

/** Mounts a file system of its own on the lake's folder; false, with the reason printed, where that isn't allowed. */
async function mounted(lake: string, options: string): Promise<boolean> {
  await mkdir(lake);
  try {
    await command('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', lake]);
  } catch (error) {
    console.log(`skipped: a file system can't be mounted here (${String(error).split('\n')[0] ?? ''})`);
    return false;
  }
  // Before the folder is removed.
  onTestFinished(() => command('umount', [lake]).then(() => undefined));
  return true;
}

test('a disk that runs full ends the run clearly, and with more room it goes on', async ({ skip }) => {
  const { lake, upstream } = await place();
  if (!(await mounted(lake, 'size=200k'))) skip();
  expect(await failure(lake, upstream)).toMatch(/the disk is full.*what was committed stays/);
  const before = await filesOf(lake);
  expect(truthOf(before).faults).toEqual([]);
  expect(truthOf(before).counted.length).toBeGreaterThan(0);

  await command('mount', ['-o', 'remount,size=20m', lake]);
  const { code, errors } = await childRun(words(lake, upstream)).ended;
  expect(code, errors).toBe(0);
  const files = await filesOf(lake);
  expect(truthOf(files).faults).toEqual([]);
  expect(globbed(files)).toEqual(truthOf(files).counted);
});

test('a lake that can’t be written is refused before anything is asked for', async ({ skip }) => {
  const { lake, upstream } = await place();
  if (!(await mounted(lake, 'size=1m,ro'))) skip();
  expect(await failure(lake, upstream)).toMatch(/read-only/);
  expect(upstream.asked).toEqual([]);
});
