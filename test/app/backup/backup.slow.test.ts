import { resultOf } from '../ended.js';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backup, restore } from '../../../src/app/backup/backup.js';
import { forgetIn } from '../../../src/app/forget/forget.js';
import { repair } from '../../../src/app/repair/repair.js';
import { certify, verify } from '../../../src/app/verify/verify.js';
import { Kept } from '../../core/text/streams.js';
import { messageOf } from '../../../src/core/errors.js';
import { commitPath } from '../../../src/lake/catalog/catalog-files.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { Lake } from '../../../src/lake/lake.js';
import type { Store } from '../../../src/lake/store/store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { memoryStore, watched, type MemoryStore, type StoreCall } from '../../lake/memory-store.js';
import { servedBucket } from '../../s3-server/served-bucket.js';
import { database, temporaryFolder } from '../lake-run.js';
import { compacted } from '../maintenance/kept-lake.js';
import { clock, filesBelow, shopsTemplate, type ShopsTemplate } from '../two-shops.js';

let shops: ShopsTemplate;
beforeAll(async () => {
  shops = await shopsTemplate();
});
afterAll(() => shops.close());

const { signal } = new AbortController();
const context = { clock, signal, emit: () => undefined };
/** A lake in memory has no address; forgetting looks there for saved pages. */
const lake = join(tmpdir(), 'ledgerlake-backup-lake');
const destination = join(tmpdir(), 'ledgerlake-backup');

async function backedUp(store: Store, destinationStore: Store) {
  return (await resultOf(backup({ lake, store, destination, destinationStore }, context))).summary;
}

async function forgot(store: Store): Promise<unknown> {
  const options = { lake, account: 'shop-a', yes: true };
  const asked = { ...context, confirm: undefined, emit: () => undefined };
  return (await forgetIn(await Lake.open(store, tables, clock), undefined, options, asked)).summary;
}

/** Every file of a lake with its hash, but for leases. */
async function filesOf(store: Store): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { path } of store.list('')) {
    if (path.startsWith('_runs/')) continue;
    files[path] = createHash('sha256')
      .update((await store.read(path)) ?? '')
      .digest('hex');
  }
  return files;
}

/** The files that both a lake and its backup have: data, commits and notes. */
async function essentialFiles(store: Store): Promise<Record<string, string>> {
  const files = Object.entries(await filesOf(store));
  return Object.fromEntries(
    files.filter(([path]) => !/_delta_log\/(_last_|.*\.checkpoint)|^_catalog\/_|^_(backups|journal)\//.test(path)),
  );
}

/** The version that a lake shows, once every file of it is found. */
async function shownVersion(store: MemoryStore): Promise<number> {
  const opened = await Lake.openLost(store, tables, clock);
  for (const file of opened.files()) expect(store.files.get(file.lakePath)?.length).toBe(file.size);
  return opened.snapshot.version;
}

/** Checks all of a lake; the service that was read contradicts itself. */
async function expectWhole(root: string): Promise<void> {
  const { certificate } = await certify({ lake: root, account: undefined }, { clock, signal, emit: () => undefined });
  expect(certificate.problems.filter(({ kind }) => kind !== 'upstream')).toEqual([]);
  expect(certificate.verdict).toBe('findings');
}

/** The files of a lake in memory in a folder. */
async function onDisk({ files }: MemoryStore): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
  return folder;
}

function traces(store: MemoryStore, trace: string): string[] {
  return [...store.files]
    .filter(([path, bytes]) => path.includes(trace) || Buffer.from(bytes).includes(trace))
    .map(([path]) => path);
}

test('A lake on a disk goes to S3 and back, and the copies have its files, rows and chain', async () => {
  await servedBucket();
  const { lake: root } = await shops.copy();
  const remote = 's3://bucket/backups/lake';
  const { summary } = await backup({ lake: root, destination: remote }, context);
  expect(summary.copied.files).toBe(summary.files);
  expect(await essentialFiles(openStore(remote))).toEqual(await essentialFiles(openStore(root)));
  const again = (await backup({ lake: root, destination: `${remote}/` }, context)).summary;
  expect(again).toMatchObject({ copied: { files: 0 }, removed: { files: 0 }, catalog: summary.catalog });

  const restored = join(await temporaryFolder(), 'restored');
  const { summary: after } = await restore({ lake: restored, source: remote }, context);
  expect(after).toMatchObject({ copied: summary.copied, catalog: summary.catalog });
  expect(await essentialFiles(openStore(restored))).toEqual(await essentialFiles(openStore(root)));
  await expectWhole(restored);
  const query = 'SELECT * FROM entries ORDER BY ALL';
  const rows = await (await database(root, clock, query)).rows(query);
  expect(rows.length).toBeGreaterThan(20);
  expect(await (await database(restored, clock, query)).rows(query)).toEqual(rows);
  // It is a lake to load into, which knows where its backup is.
  const forgotten = await forgot(openStore(restored));
  expect(forgotten).toMatchObject({ backups: [{ destination: remote, version: summary.catalog.version }] });
});

test('A damaged backup is what the error names, and until a restore has ended its place is no lake', async () => {
  const { lake: source } = await shops.copy();
  const restored = join(await temporaryFolder(), 'restored');
  /** The error of a restore from the backup with this file damaged, which is mended again. */
  const failureWith = async (path: string): Promise<string> => {
    const file = join(source, path);
    const bytes = await readFile(file);
    await writeFile(file, Buffer.concat([bytes, Buffer.from('x')]));
    const failure: unknown = await restore({ lake: restored, source }, context).catch((error: unknown) => error);
    await writeFile(file, bytes);
    return messageOf(failure);
  };
  const commit = commitPath(1);
  expect(await failureWith(commit)).toBe(
    `expected ${source}/${commit} as it was written, its bytes have changed; run \`ledgerlake repair --lake ${source}\`, ` +
      'or restore the file from a copy of the lake',
  );
  await expect(readdir(restored)).rejects.toThrow('ENOENT');

  const { snapshot } = await Lake.open(openStore(source), tables, clock);
  const [add] = snapshot.files('entries');
  expect(await failureWith(`entries/${add?.path}`)).toMatch(
    new RegExp(`^expected ${source}/entries/.*: \`ledgerlake verify --lake ${source}\` says what to do$`),
  );
  const unfinished =
    `expected a lake at ${restored}, got a restore of ${source} that has not ended; ` +
    `\`ledgerlake restore ${source} --lake ${restored}\` continues it`;
  await expect(Lake.open(openStore(restored), tables, clock)).rejects.toThrow(unfinished);
  await writeFile(join(source, '../file'), '');
  await expect(backup({ lake: source, destination: join(source, '../file/x') }, context)).rejects.toThrow(
    /; choose another DESTINATION or move that file away/,
  );
  const repairing = { ...context, confirm: undefined, print: () => undefined, emit: () => undefined };
  await expect(repair({ lake: restored, yes: true }, repairing)).rejects.toThrow(unfinished);

  await restore({ lake: restored, source }, context);
  expect(await essentialFiles(openStore(restored))).toEqual(await essentialFiles(openStore(source)));
});

class Killed extends Error {}

/** A store whose process dies at a change: that one and all after it fail. `lost`: the change is done, and its answer lost. */
function dyingAt(store: Store, at: number, lost: boolean): Store {
  let changes = 0;
  const isChange = ({ method, path }: StoreCall) =>
    ['write', 'create', 'remove'].includes(method) && !path.startsWith('_runs/');
  const before = (call: StoreCall): void => {
    if (isChange(call)) changes++;
    if (lost ? changes > at + 1 : changes > at) throw new Killed();
  };
  return watched(store, {
    before,
    after: () => {
      if (lost && changes > at) throw new Killed();
    },
  });
}

/** The changes of a store that a backup makes. */
async function changesOf(files: ReadonlyMap<string, Uint8Array>, destinationFiles: ReadonlyMap<string, Uint8Array>) {
  const changes: StoreCall[] = [];
  const target = memoryStore(destinationFiles);
  const before = (call: StoreCall) => {
    if (['write', 'create', 'remove'].includes(call.method) && !call.path.startsWith('_runs/')) changes.push(call);
  };
  await backedUp(memoryStore(files), watched(target, { before }));
  return { changes, target };
}

describe('A backup that is killed', () => {
  test.each([
    ['at first', false],
    ['after a merge and a forgotten account', true],
  ])('%s leaves the old version or the new one, and the next one completes it', async (_, isSecond) => {
    const { lake: root } = await shops.copy();
    const source = memoryStore(await filesBelow(root));
    const first = memoryStore();
    if (isSecond) {
      await backedUp(source, first);
      await compacted({ lake, store: source }, { clock });
      await forgot(source);
    }
    const old = await shownVersion(first);
    const { changes, target } = await changesOf(source.files, first.files);
    if (isSecond) await expectWhole(await onDisk(target));
    const expected = await filesOf(target);
    const newest = await shownVersion(target);
    const shown = new Set<number>();
    const step = Math.ceil(changes.length / 12);
    for (let at = 0; at < changes.length; at += step) {
      const store = memoryStore(first.files);
      await expect(
        backedUp(memoryStore(source.files), dyingAt(store, at, at % 2 === 0)),
        `change ${at}`,
      ).rejects.toThrow(Killed);
      // A process that died holds no lease any more.
      for (const [path, bytes] of store.files) {
        if (path.startsWith('_runs/'))
          store.files.set(
            path,
            Buffer.from(Buffer.from(bytes).toString().replace('"renewedAt"', '"ended":true,"renewedAt"')),
          );
      }
      const isBegun = [...store.files.keys()].some((path) => path.startsWith('events/'));
      if (isBegun && !store.files.has('_catalog/_last-checkpoint'))
        await expect(Lake.open(store, tables, clock)).rejects.toThrow(
          new RegExp(
            `got a backup of .* that has not ended; \`ledgerlake backup ${store.location} --lake .*\` continues it$`,
          ),
        );
      shown.add(await shownVersion(store));
      await backedUp(memoryStore(source.files), store);
      expect(await filesOf(store), `change ${at} of ${changes.length}: ${JSON.stringify(changes[at])}`).toEqual(
        expected,
      );
    }
    expect([...shown].toSorted((a, b) => a - b)).toEqual([old, newest]);
  });
});

test('A backup beside a merge whose files replace what it copies has the newest version', async () => {
  const { lake: root, reload } = await shops.copy();
  const store = openStore(root);
  const target = memoryStore();
  let isDone = false;
  const meanwhile = watched(target, {
    after: ({ method, path }) => {
      if (isDone || method !== 'write' || !path.startsWith('entries/')) return;
      isDone = true;
    },
  });
  const merging: Store = {
    ...meanwhile,
    write: async (path, bytes) => {
      const isFirst = !isDone;
      await meanwhile.write(path, bytes);
      if (!isFirst || !isDone) return;
      await compacted({ lake: root }, { clock });
      await reload('shop-b');
    },
  };
  const { catalog, files } = await backedUp(store, merging);
  const { snapshot } = await Lake.open(store, tables, clock);
  expect(catalog).toEqual({ version: snapshot.version, hash: snapshot.hash });
  expect(files).toBe([...tables].flatMap(({ name }) => [...snapshot.files(name)]).length);
  expect(await shownVersion(target)).toBe(snapshot.version);
});

test('Of a damaged backup the catalog is restored, what copies the rest again is printed, and no row is taken out', async () => {
  const { lake: root } = await shops.copy();
  const copy = join(await temporaryFolder(), 'copy');
  await backup({ lake: root, destination: copy }, context);
  const { snapshot } = await Lake.open(openStore(copy), tables, clock);
  const [damaged = '', missing = ''] = [...snapshot.files('entries')].map(({ path }) => `entries/${path}`);
  const change = async (path: string): Promise<void> => {
    const bytes = await readFile(join(copy, path));
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    await writeFile(join(copy, path), bytes);
  };
  await change(damaged);
  await rm(join(copy, missing));
  await change(commitPath(1));
  const commandsIn = async (checked: string): Promise<(string | null)[]> => {
    const { certificate } = await certify(
      { lake: checked, account: undefined },
      { clock, signal, emit: () => undefined },
    );
    return certificate.problems.flatMap(({ kind, command }) => (kind === 'lake' ? [command] : []));
  };
  const again = `ledgerlake backup ${copy} --lake ${root}`;
  const move = `mv -- ${copy}/${damaged} ${copy}/_moved-${damaged.replaceAll('/', '-')} && ${again}`;
  expect((await commandsIn(copy)).toSorted()).toEqual([again, `ledgerlake repair --lake ${copy}`, move].toSorted());

  const files = await filesOf(openStore(copy));
  const repairing = { ...context, print: () => undefined, confirm: undefined };
  await expect(repair({ lake: copy, yes: true }, repairing)).rejects.toThrow(
    `expected a whole backup of ${root} at ${copy}, got 2 damaged parts; repair takes no rows out of a backup: ` +
      `\`ledgerlake verify --lake ${copy}\` names the commands that copy again`,
  );
  const restored = await filesOf(openStore(copy));
  const { [commitPath(1)]: restoredCommit, ...rest } = restored;
  expect(files).toMatchObject(rest);
  expect(restoredCommit).toBe((await filesOf(openStore(root)))[commitPath(1)]);

  await rename(join(copy, damaged), join(copy, '_moved'));
  await backup({ lake: root, destination: copy }, context);
  await expectWhole(copy);
  // Commits that were cut off are copied again, and nothing is removed.
  const whole = await filesOf(openStore(copy));
  for (const at of [1, snapshot.version]) {
    await writeFile(join(copy, commitPath(at)), 'cut');
    await backup({ lake: root, destination: copy }, context);
    expect(await filesOf(openStore(copy))).toMatchObject(await essentialFiles(openStore(root)));
    expect(Object.keys(await filesOf(openStore(copy)))).toEqual(expect.arrayContaining(Object.keys(whole)));
    await expectWhole(copy);
  }
  // A lake that is written to is no backup any more.
  await compacted({ lake: copy }, { clock });
  const { snapshot: later } = await Lake.open(openStore(copy), tables, clock);
  const [file] = later.files('groups');
  await change(`groups/${file?.path}`);
  expect(await commandsIn(copy)).toEqual([
    expect.stringMatching(new RegExp(`^ledgerlake backfill .* --lake ${copy} .*--refresh`)),
  ]);
});

test('Of many damaged files of a backup three are shown with what copies them again', async () => {
  const { lake: root } = await shops.copy();
  const copy = join(await temporaryFolder(), 'copy');
  await backup({ lake: root, destination: copy }, context);
  const { snapshot } = await Lake.open(openStore(copy), tables, clock);
  const damaged = [...snapshot.files('entries')].slice(0, 5);
  for (const { path } of damaged) await writeFile(join(copy, 'entries', path), 'cut');
  const output = new Kept();
  const options = { lake: copy, account: undefined, format: 'table', strict: false, quiet: true } as const;
  expect(await verify(options, { clock, signal, emit: () => undefined, output })).toMatchObject({ exitCode: 1 });
  expect([damaged.length, output.text.match(/ mv -- /g)?.length]).toEqual([5, 3]);
  expect(output.text).toContain('lake file-bytes: 2 more of entries, each with a command of its own; --format json');
});

test('What was forgotten goes from the next backup too, and until then `forget` names it', async () => {
  const { lake: root } = await shops.copy();
  const source = memoryStore(await filesBelow(root));
  const target = memoryStore();
  const { catalog } = await backedUp(source, target);
  expect(traces(target, 'shop-a').length).toBeGreaterThan(20);
  expect(await forgot(source)).toMatchObject({ backups: [{ destination, version: catalog.version }] });
  const { removed, erased_commits } = await backedUp(source, target);
  expect(removed.files).toBeGreaterThan(10);
  expect(erased_commits).toBe(catalog.version + 1);
  for (const trace of ['shop-a', '901-0000', 'GROUP-A', 'SKU-A']) expect(traces(target, trace)).toEqual([]);
});

describe('Nothing is changed', () => {
  test.each([
    [
      'where other files are',
      { 'notes.txt': 'x' },
      /expected an empty place or an earlier copy of .*other files \(notes\.txt\)/,
    ],
  ])('%s', async (_, files, message) => {
    const { lake: root } = await shops.copy();
    const target = memoryStore(new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])));
    const before = await filesOf(target);
    await expect(backedUp(openStore(root), target)).rejects.toThrow(message);
    expect(await filesOf(target)).toEqual(before);
    expect(await filesOf(openStore(root))).not.toHaveProperty('_backups');
  });

  test('where the place has another lake, or a newer version', async () => {
    const { lake: root, reload } = await shops.copy();
    const source = memoryStore(await filesBelow(root));
    const target = memoryStore();
    await backedUp(source, target);
    await reload('shop-a');
    await compacted({ lake: root }, { clock });
    await compacted({ lake, store: source }, { clock });
    const before = await filesOf(target);
    const newer = memoryStore(source.files);
    await expect(backedUp(target, newer)).rejects.toThrow(
      /got version \d+, which is newer than \d+; name another with DESTINATION$/,
    );
    const anew = /got another lake; where a run has begun \S+ anew, check whether its disk is mounted; name another/;
    await expect(backedUp(openStore(root), newer)).rejects.toThrow(anew);
    // Of a higher version than the lake.
    await expect(backedUp(source, openStore(root))).rejects.toThrow(anew);
    await expect(restore({ lake: root, source: 'nowhere', sourceStore: newer }, context)).rejects.toThrow(
      /got another lake; name another with --lake$/,
    );
    await expect(restore({ lake: root, source: `${root}-none` }, context)).rejects.toThrow(
      /^expected a lake at \S+-none, got none; check SOURCE and whether its disk is mounted$/,
    );
    expect(await filesOf(newer)).toEqual(await filesOf(source));
    expect(await filesOf(target)).toEqual(before);
  });

  test('where a file of the lake is damaged, which is named', async () => {
    const { lake: root } = await shops.copy();
    const target = memoryStore();
    const { snapshot } = await Lake.open(openStore(root), tables, clock);
    const [file] = snapshot.files('entries');
    const path = `entries/${file?.path}`;
    await writeFile(join(root, path), Buffer.alloc(file?.size ?? 0));
    await expect(backedUp(openStore(root), target)).rejects.toThrow(
      new RegExp(`${path} as its commit has it, its bytes have changed`),
    );
    expect(await shownVersion(target)).toBe(-1);
  });

  test('where one place is within the other', async () => {
    const root = await temporaryFolder();
    for (const [from, to] of [
      [root, `${root}/`],
      [root, join(root, 'backup')],
      [join(root, 'lake'), root],
      ['s3://bucket/lake', 's3://bucket/lake/backup'],
    ] as const) {
      await expect(backup({ lake: from, destination: to }, context)).rejects.toThrow(
        'expected DESTINATION to be another place',
      );
      await expect(restore({ lake: from, source: to }, context)).rejects.toThrow('expected SOURCE to be another place');
    }
  });
});
