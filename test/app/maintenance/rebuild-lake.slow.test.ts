import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/lake/store/open-store.js';
import { defaultLimits } from '../../../src/lake/files/workspace.js';
import { builtRederivingThread, scripted } from '../../core/built-thread.js';
import { database, fileContents, fileHashes, temporaryFolder } from '../lake-run.js';
import { flattenedOtherwise } from './other-entries.js';
import { failingStore } from './failing-store.js';
import { compacted, contentsOf, copied, dataFiles, everyHash, loaded, rebuilt, steppingClock } from './kept-lake.js';
import { makeLake, type MadeLake } from './made-lake.js';
import { eventsBody, fileOf, imported } from '../import/imported.js';
import { addOf, rewrite } from '../verify/damage.js';
import { open, shipment, smallLake, within } from './small-lake.js';

const clock = steppingClock();
let made: MadeLake;
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  made = await makeLake(clock, { events: 150, orders: 40 });
  small = await smallLake(clock);
});
afterAll(async () => {
  await made.remove();
  await small.remove();
});

function withoutSeconds(pipelines: Readonly<Record<string, Readonly<Record<string, number>>>>) {
  return Object.fromEntries(
    Object.entries(pipelines).map(([name, counts]) => [
      name,
      Object.fromEntries(Object.entries(counts).filter(([count]) => count !== 'seconds')),
    ]),
  );
}

describe('a rebuild by the version that wrote the lake', () => {
  test('changes no byte of what was loaded', async () => {
    const lake = await copied(made.lake);
    const before = await everyHash(lake);
    const { printed, summary } = await rebuilt({ lake }, { clock });
    expect(await everyHash(lake)).toEqual(before);
    expect(printed).toContain('Nothing to do');
    const contents = await contentsOf(lake, clock);
    const [held] = await contents.rows(
      'SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM entries) AS entries',
    );
    expect(summary.pipelines['financial-events']).toMatchObject({
      events: Number(held?.['events']),
      entries: Number(held?.['entries']),
      files: 0,
      bytes: 0,
      requests: 0,
    });
    expect(summary.pipelines['financial-event-groups']).toBeUndefined();
  });

  test('changes no byte of what was compacted', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const before = await everyHash(lake);
    await rebuilt({ lake }, { clock });
    expect(await everyHash(lake)).toEqual(before);
  });
});

describe('a rebuild after the flattening has changed', () => {
  test.each([
    { what: 'kinds', query: "SELECT * REPLACE (CASE WHEN entry = 1 THEN 'older' ELSE kind END AS kind) FROM FILE" },
    { what: 'amounts', query: 'SELECT * REPLACE (amount + 0.000001::DECIMAL(18,6) AS amount) FROM FILE' },
    { what: 'columns', query: 'SELECT * EXCLUDE (name, quantity) FROM FILE' },
    { what: 'types', query: 'SELECT * REPLACE (entry::BIGINT AS entry) FROM FILE' },
    { what: 'rows twice', query: 'SELECT * FROM FILE UNION ALL SELECT * FROM FILE WHERE entry = 0' },
  ])('that had made other $what brings back every row', async ({ what, query }) => {
    const lake = await copied(small.lake);
    const contents = await contentsOf(lake, clock);
    const nets = async () =>
      (await open(lake, clock)).snapshot.filesOf('events', 'shop', 'financial-events').map(({ tags }) => tags?.['net']);
    const net = await nets();
    await flattenedOtherwise(lake, query, clock);
    const changed = what === 'types' ? [] : ['entries'];
    expect(Object.keys(await contents.differences())).toEqual(changed);
    const { summary, printed } = await rebuilt({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
    expect(printed).toContain('Re-derived');
    expect(summary.pipelines['financial-events']?.['files']).toBe((await dataFiles(lake, 'entries')).length);
    expect(await nets()).toEqual(net);
    expect((await dataFiles(lake, 'entries')).some((file) => file.includes('-0123456789abcdef'))).toBe(false);
    const before = await everyHash(lake);
    await rebuilt({ lake }, { clock });
    expect(await everyHash(lake)).toEqual(before);
  });

  test('leaves alone what holds the same rows in another order', async () => {
    const lake = await copied(small.lake);
    await flattenedOtherwise(lake, 'SELECT * FROM FILE ORDER BY amount, name, entry', clock);
    const before = await fileHashes(lake);
    const { printed } = await rebuilt({ lake }, { clock });
    expect(printed).toContain('Nothing to do');
    // But for the note of how long the logs are, as they were written to by hand.
    expect(await fileHashes(lake)).toEqual(before);
  });

  test('writes the same files with a thread and without', async () => {
    const one = await copied(small.lake);
    await flattenedOtherwise(one, "SELECT * REPLACE ('none' AS role) FROM FILE", clock);
    const two = await copied(one);
    const contents = await contentsOf(small.lake, clock);
    const first = await rebuilt({ lake: one, limits: { ...defaultLimits, thread: { from: Infinity } } }, { clock });
    const second = await rebuilt(
      { lake: two, limits: { ...defaultLimits, thread: { from: 0, script: builtRederivingThread } } },
      { clock },
    );
    for (const { summary } of [first, second])
      expect(summary.pipelines['financial-events']?.['files']).toBeGreaterThan(1);
    const rows = await fileContents(one);
    expect(rows).toEqual(await fileContents(small.lake));
    expect(await fileContents(two)).toEqual(rows);
    expect(await contents.differences(two)).toEqual({});
  });

  test('finds nothing to do with a thread as well', async () => {
    const lake = await copied(made.lake);
    const before = await everyHash(lake);
    const alone = await rebuilt({ lake }, { clock });
    const limits = { ...defaultLimits, thread: { from: 0, script: builtRederivingThread } };
    const { printed, summary } = await rebuilt({ lake, limits }, { clock });
    expect(printed).toContain('Nothing to do');
    expect(summary.pipelines).toMatchObject(withoutSeconds(alone.summary.pipelines));
    expect(await everyHash(lake)).toEqual(before);
  });

  test('of a compacted file that is read in several batches brings them back', async () => {
    const root = await temporaryFolder();
    // Of one day, and beyond what is read at once.
    const days = Array.from({ length: 60 }, (_, page) =>
      eventsBody(
        Array.from({ length: 100 }, (__, at) => ({
          list: 'ShipmentEventList',
          json: shipment(
            within(1, (page * 100 + at) % 1440),
            `111-0000000-${String(page * 100 + at).padStart(7, '0')}`,
          ),
        })),
      ),
    );
    await imported({ root, clock }, [await fileOf(days.slice(0, 30)), await fileOf(days.slice(30))]);
    await compacted({ lake: root }, { clock });
    expect(await dataFiles(root, 'events')).toHaveLength(1);
    const before = await everyHash(root);
    await rebuilt({ lake: root }, { clock });
    expect(await everyHash(root)).toEqual(before);
    await flattenedOtherwise(root, "SELECT * REPLACE ('none' AS role) FROM FILE", clock);
    const contents = await contentsOf(root, clock);
    await rebuilt({ lake: root }, { clock });
    expect(await contents.differences()).toEqual({ entries: 24_000 });
    expect(
      await contents.rows("SELECT count(*)::INT AS n, count(*) FILTER (role = 'none')::INT AS none FROM entries"),
    ).toEqual([{ n: 12_000, none: 0 }]);
  });

  test('ends with one error where its thread dies, and the next one goes on', async () => {
    const lake = await copied(small.lake);
    const contents = await contentsOf(lake, clock);
    await flattenedOtherwise(lake, "SELECT * REPLACE ('none' AS role) FROM FILE", clock);
    const limits = { ...defaultLimits, thread: { from: 0, script: scripted("throw new Error('out of luck')") } };
    await expect(rebuilt({ lake, limits }, { clock })).rejects.toMatchObject({ code: 'ENCODER', exitCode: 1 });
    await rebuilt({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
  });

  test('of a compacted lake brings them back as well', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    await flattenedOtherwise(lake, "SELECT * REPLACE ('none' AS role) FROM FILE", clock);
    await rebuilt({ lake, pipelines: ['group-events'] }, { clock });
    expect(Object.keys(await contents.differences())).toEqual(['entries', 'order_entries']);
    await rebuilt({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
  });

  test('that dies at any change can be run again', async () => {
    const whole = await copied(small.lake);
    const contents = await contentsOf(whole, clock);
    await flattenedOtherwise(whole, "SELECT * REPLACE ('none' AS role) FROM FILE", clock);
    for (let dieAt = 1; ; dieAt++) {
      const lake = await copied(whole);
      const store = failingStore(openStore(lake), dieAt);
      const failure: unknown = await rebuilt({ lake, store }, { clock }).catch((error: unknown) => error);
      if (store.changes < dieAt) break;
      expect(failure, `change ${dieAt}`).toBeInstanceOf(Error);
      await rm(join(lake, '_runs'), { recursive: true, force: true });
      await rebuilt({ lake }, { clock });
      expect(await contents.differences(lake), `change ${dieAt}`).toEqual({});
      expect(await dataFiles(lake, 'entries'), `change ${dieAt}`).toHaveLength(3);
    }
  });
});

describe('a rebuild of damaged files', () => {
  test('makes a file of entries again that is missing or was changed', async () => {
    for (const damage of [(file: string) => rm(file), (file: string) => appendFile(file, 'x')]) {
      const lake = await copied(made.lake);
      const contents = await contentsOf(lake, clock);
      const before = await everyHash(lake);
      const [name = ''] = await dataFiles(lake, 'entries');
      await damage(join(lake, 'entries', name));
      await rebuilt({ lake }, { clock });
      expect(await contents.differences()).toEqual({});
      expect(await dataFiles(lake, 'entries')).toHaveLength(
        [...before.keys()].filter((file) => file.startsWith('entries/account')).length,
      );
      await compacted({ lake }, { clock });
    }
  });

  test('replaces entries that the log takes for right, also where they have the name of those that it derives', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    const wrong = 'SELECT * REPLACE (CAST(amount + 1 AS DECIMAL(18,6)) AS amount) FROM rows';
    const first = addOf(lake, 'entries');
    const [slice = ''] = /\d{8}T\d{6}Z-\d{8}T\d{6}Z/.exec(first.path) ?? [];
    // The first rebuild names its file by what it holds; the second one derives the same.
    for (let round = 0; round < 2; round++) {
      await rewrite(lake, 'entries', addOf(lake, 'entries', slice), wrong);
      expect(await contents.differences()).not.toEqual({});
      await rebuilt({ lake }, { clock });
      expect(await contents.differences()).toEqual({});
    }
  });

  test('derives all but what is missing or was changed, and says how to read that again', async () => {
    const lake = await copied(made.lake);
    const contents = await contentsOf(lake, clock);
    await flattenedOtherwise(lake, "SELECT * REPLACE ('none' AS role) FROM FILE", clock);
    const damages = [(file: string) => rm(file), (file: string) => appendFile(file, 'x')];
    const names: string[] = [];
    for (const [at, table] of ['events', 'order_events'].entries()) {
      const [name = ''] = await dataFiles(lake, table);
      names.push(`${table}/${name}`);
      await damages[at]?.(join(lake, table, name));
    }
    const logged: string[] = [];
    const failed = rebuilt({ lake }, { clock, log: (line) => logged.push(line) });
    await expect(failed).rejects.toMatchObject({ code: 'LAKE_STORE', exitCode: 1 });
    await expect(failed).rejects.toThrow(
      /and 1 more file, which `ledgerlake verify --lake \S+` lists; .*read it again: `ledgerlake backfill financial-events --lake /,
    );
    const reported = logged.filter((line) => line.includes('not derived: '));
    expect(reported).toHaveLength(2);
    for (const [at, name] of names.entries()) expect(reported[at]).toContain(name);
    const stale = "SELECT count(*) AS n FROM group_entries WHERE role = 'none'";
    expect(await (await database(lake, clock, stale)).rows(stale)).toEqual([{ n: 0n }]);

    for (const line of reported) {
      const [, ids, words = ''] =
        /read it again: `(?:printf '%s\\n' (.*) \| )?ledgerlake backfill (.*)`$/.exec(line) ?? [];
      const given = (option: string) => new RegExp(`--${option} (\\S+)`).exec(words)?.[1];
      expect(words).toMatch(/ --refresh$/);
      await loaded(lake, made.endpoint, clock, {
        pipelines: words.split(' ').slice(0, 1),
        account: given('account'),
        refresh: true,
        ...(ids === undefined ? { from: given('from'), to: given('to') } : {}),
        ...(ids !== undefined && { orders: ids.split(' ') }),
      });
    }
    await rebuilt({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
  });
});
