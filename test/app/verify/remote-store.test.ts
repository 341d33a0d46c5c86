import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { Lake } from '../../../src/lake/lake.js';
import type { Store } from '../../../src/lake/store/store.js';
import { verifyLake } from '../../../src/app/verify/verify-lake.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';

let loaded: LoadedLake;
/** The folder for temporary files, for this test alone. */
let folder: string;
const usual = process.env['TMPDIR'];

beforeAll(async () => {
  loaded = await loadedLake();
  folder = mkdtempSync(join(tmpdir(), 'ledgerlake-remote-test-'));
  process.env['TMPDIR'] = folder;
});
afterAll(() => {
  if (usual === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = usual;
  rmSync(folder, { recursive: true });
  loaded.remove();
});

/** A store whose files DuckDB can't open by their address. */
function remote(store: Store): Store & { readonly reads: string[] } {
  const reads: string[] = [];
  return {
    ...store,
    reads,
    location: 's3://bucket/lake',
    address: (path) => `s3://bucket/lake/${path}`,
    localPath: () => undefined,
    readRange: (path, start, length) => {
      if (path.endsWith('.parquet')) reads.push(path);
      return store.readRange(path, start, length);
    },
  };
}

function copies(): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('ledgerlake-verify-'));
}

async function verifyAt(store: Store) {
  const lake = await Lake.open(store, tables, loaded.clock);
  const { clock } = loaded;
  return verifyLake({ lake, account: undefined, clock, signal: new AbortController().signal, emit: () => undefined });
}

test('a lake that is not on a disk is read through its store, each file once, and no copy stays', async () => {
  const before = copies();
  const store = remote(diskStore(loaded.root));
  const certificate = await verifyAt(store);
  expect(certificate.problems()).toEqual([]);
  expect(certificate.results()).toEqual((await verifyAt(diskStore(loaded.root))).results());
  expect(new Set(store.reads).size).toBe(store.reads.length);
  expect(store.reads.length).toBe(certificate.results().find(({ check }) => check === 'file-bytes')?.checked);
  expect(copies().filter((name) => !before.includes(name))).toEqual([]);
});

test('a store that fails is an error, and no copy stays', async () => {
  const before = copies();
  const store = remote(diskStore(loaded.root));
  const failing = { ...store, readRange: () => Promise.reject(new Error('the line is dead')) };
  await expect(verifyAt(failing)).rejects.toThrow('the line is dead');
  expect(copies().filter((name) => !before.includes(name))).toEqual([]);
});

test('a signal stops it', async () => {
  const lake = await Lake.open(diskStore(loaded.root), tables, loaded.clock);
  const signal = AbortSignal.abort(new Error('enough'));
  const options = { lake, account: undefined, clock: loaded.clock, signal, emit: () => undefined };
  await expect(verifyLake(options)).rejects.toMatchObject({
    message: expect.stringMatching(/enough|stopped/) as string,
  });
});
