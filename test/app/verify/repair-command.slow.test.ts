import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.js';
import { repair } from '../../../src/app/repair/repair.js';
import { commitPath } from '../../../src/lake/catalog/catalog-files.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import { compacted, rebuilt } from '../maintenance/kept-lake.js';
import { database, ran } from '../lake-run.js';
import { addOf, changeAdd, changeTags, commitByHand, pathOf, removeByHand, rewrite, sealed } from './damage.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { smallBackend } from './small-backend.js';
import { verified } from './verified.js';

const orders = ['111-0000000-0000001', '111-0000000-0000014'];
const week = '20250301T000000Z-20250308T000000Z';

let whole: LoadedLake;
let server: Awaited<ReturnType<typeof startApiServer>>;
beforeAll(async () => {
  whole = await loadedLake(undefined, [{}, { pipelines: ['order-events'], orders }]);
  server = await startApiServer({ backend: smallBackend(), clock: whole.clock });
});
afterAll(async () => {
  await server.close();
  whole.remove();
});

/** How many rows each table has, and what they come to. What was read again may have left its trace in the history. */
async function rowsOf({ root, clock }: LoadedLake): Promise<unknown[]> {
  const filled = ['events', 'entries', 'groups', 'group_events', 'group_entries', 'order_events', 'order_entries'];
  const selects = filled.map(
    (name) => `SELECT '${name}' AS name, count(*) AS rows, bit_xor(hash(of)) AS hash FROM ${name} AS of`,
  );
  const query = selects.join(' UNION ALL ');
  return [...(await (await database(root, clock, query)).rows(`${query} ORDER BY ALL`))];
}

/** Runs a command as `verify` or an error names it, over the service of these tests, and with yes for an answer. */
async function runCommand(command: string, { root, clock }: LoadedLake): Promise<void> {
  if (command.startsWith('mv ')) {
    execFileSync('sh', ['-c', command]);
    return;
  }
  const [, ids, line = ''] = /^(?:printf '%s\\n' (.*) \| )?ledgerlake (.*)$/.exec(command) ?? [];
  const [name, ...words] = line.split(' ');
  const given = (option: string): string | undefined => {
    const at = words.indexOf(`--${option}`);
    return at < 0 ? undefined : words[at + 1];
  };
  const pipelines = words.slice(
    0,
    words.findIndex((word) => word.startsWith('--')),
  );
  expect(given('lake') ?? root).toBe(root);
  if (name === 'compact') await compacted({ lake: root }, { clock });
  else if (name === 'rebuild') await rebuilt({ lake: root, pipelines }, { clock });
  else if (name === 'repair') {
    const none = () => undefined;
    const context = {
      clock,
      signal: new AbortController().signal,
      print: none,
      log: none,
      emit: none,
    };
    const { exitCode = 0 } = await repair({ lake: root, yes: true }, { ...context, confirm: undefined });
    expect(exitCode).toBe(0);
  } else {
    expect(name).toBe('backfill');
    const range = { from: given('from'), to: given('to'), account: given('account') };
    const read = ids === undefined ? {} : { orders: ids.split(' ') };
    const refresh = words.includes('--refresh');
    await ran({ lake: root, endpoint: server.url, pipelines, refresh, ...range, ...read }, { clock });
  }
}

/** What `verify` says mends the lake; of a lake that can't be opened, what the error says. */
async function mendsOf(lake: LoadedLake): Promise<(string | null)[]> {
  try {
    const { problems } = await verified(lake);
    const broken = problems.filter(({ kind }) => kind === 'lake');
    return [...new Set(broken.map((of) => of.command))];
  } catch (error) {
    const [, command = null] = /`(ledgerlake repair)`/.exec(messageOf(error)) ?? [];
    return [command === null ? null : `${command} --lake ${lake.root}`];
  }
}

type Damage = (root: string) => Promise<void> | void;

function gone(table: string, part = ''): Damage {
  return (root) => {
    rmSync(pathOf(root, table, addOf(root, table, part)));
  };
}

function rows(table: string, query: string): Damage {
  return (root) => rewrite(root, table, addOf(root, table, week), query);
}

function tag(name: string, value: string): Damage {
  return (root) => {
    changeTags(root, 'events', addOf(root, 'events', week).path, { [name]: value });
  };
}

function stats(change: object): Damage {
  return (root) => {
    const add = addOf(root, 'events', week);
    const text = JSON.stringify({ ...(JSON.parse(add.stats ?? '{}') as object), ...change });
    changeAdd(root, 'events', add.path, (old) => ({ ...old, stats: text }));
  };
}

/** Bytes that the log takes for right. */
function garbage(table: string): Damage {
  return (root) => {
    const add = addOf(root, table, week);
    writeFileSync(pathOf(root, table, add), 'PAR1 and nothing else PAR1');
    changeAdd(root, table, add.path, (old) => sealed(root, table, old));
  };
}

function loaded(start: string, end: string): Damage {
  return (root) => {
    const key = `window/${start}T00:00:00.000Z/${end}T00:00:00.000Z`;
    const window = { start: Date.parse(start), end: Date.parse(end) };
    const of = { account: 'shop', pipeline: 'financial-events', key, window, readAt: 0, since: 0 };
    commitByHand(root, { tables: { events: {} }, keys: { set: [{ ...of, origin: 'api' }] } });
  };
}

/** Commits until a checkpoint stands for the first commits. */
async function checkpointed(root: string): Promise<void> {
  const lake = await Lake.open(openStore(root), tables, whole.clock);
  for (let hours = 1; hours <= 25; hours++) await lake.setRetention(hours);
  await lake.setRetention(0);
}

const firstCommit = (root: string) => join(root, commitPath(0));

const reread = /^ledgerlake backfill .* --refresh$/;
const rebuild = /^ledgerlake rebuild --lake /;
const log = /^ledgerlake repair --lake /;

const cases: readonly (readonly [what: string, mend: RegExp, damage: Damage])[] = [
  ['a file of events that is gone', reread, gone('events')],
  ['a file of entries that is gone', rebuild, gone('entries')],
  ['a file of groups that is gone', reread, gone('groups')],
  ['a file of a settlement that is gone', reread, gone('group_events')],
  [
    'a file of orders that is gone',
    /^printf .* \| ledgerlake backfill order-events .* --refresh$/,
    gone('order_events'),
  ],
  [
    'a file that was cut off',
    reread,
    (root) => {
      truncateSync(pathOf(root, 'events', addOf(root, 'events')), 1000);
    },
  ],
  ['a file that is no Parquet', reread, garbage('events')],
  ['a file of entries that is no Parquet', rebuild, garbage('entries')],
  [
    'a foreign file',
    /^mv -- \S+ \S+\/_moved-events-account=shop-month=2025-03-mine\.parquet$/,
    (root) => {
      const file = pathOf(root, 'events', addOf(root, 'events'));
      copyFileSync(file, join(root, 'events/account=shop/month=2025-03/mine.parquet'));
    },
  ],
  [
    'entries that the log lacks',
    rebuild,
    (root) => {
      removeByHand(root, 'entries', addOf(root, 'entries', week));
    },
  ],
  [
    'entries of no slice',
    log,
    (root) => {
      const add = addOf(root, 'entries', week);
      const path = add.path.replace('20250301', 'copy-20250301');
      copyFileSync(pathOf(root, 'entries', add), join(root, 'entries', path));
      const tags = { ...add.tags, main: 'events/account=shop/month=2025-03/none.parquet' };
      commitByHand(root, { tables: { entries: { add: [{ ...add, path, tags }] } } });
    },
  ],
  [
    'a file that the log has twice',
    log,
    (root) => {
      const add = addOf(root, 'events', week);
      const path = add.path.replace('20250301', 'copy-20250301');
      copyFileSync(pathOf(root, 'events', add), join(root, 'events', path));
      commitByHand(root, { tables: { events: { add: [{ ...add, path }] } } });
    },
  ],
  [
    'a file that another program added',
    log,
    (root) => {
      const path = 'account=shop/month=2025-03/foreign.parquet';
      copyFileSync(pathOf(root, 'groups', addOf(root, 'groups')), join(root, 'groups', path));
      commitByHand(root, { tables: { groups: { add: [{ ...addOf(root, 'groups'), path, tags: {} }] } } });
    },
  ],
  ['another number of rows in the log', log, tag('rows', '8')],
  ['another hash in the log', reread, tag('sha256', '0'.repeat(64))],
  ['another account in the log', log, tag('account', 'other')],
  ['no load keys in the log', log, tag('loadKeys', '["window/2025-03-01T00:00:00.000Z/')],
  ['statistics that do not hold', log, stats({ minValues: { effective_at: '2025-03-01T02:00:00.001Z' } })],
  ['windows that overlap', log, loaded('2025-03-02', '2025-03-04')],
  ['a window that crosses a month', log, loaded('2025-01-31', '2025-02-02')],
  [
    'a commit that was cut off',
    log,
    (root) => {
      truncateSync(firstCommit(root), 300);
    },
  ],
  [
    'a commit that is gone',
    log,
    (root) => {
      rmSync(firstCommit(root));
    },
  ],
  [
    'a checkpoint that was changed',
    log,
    async (root) => {
      await checkpointed(root);
      const folder = join(root, 'events/_delta_log');
      const name = readdirSync(folder).find((found) => found.endsWith('.checkpoint.parquet')) ?? '';
      const bytes = readFileSync(join(folder, name));
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      writeFileSync(join(folder, name), bytes);
    },
  ],
  [
    'a commit that was cut off and that a checkpoint stands for',
    log,
    async (root) => {
      await checkpointed(root);
      truncateSync(firstCommit(root), 200);
    },
  ],
  [
    'an amount that is a millionth off',
    rebuild,
    rows('entries', 'SELECT * REPLACE ((amount + 0.000001)::DECIMAL(18,6) AS amount) FROM rows'),
  ],
  [
    'an entry that is missing',
    rebuild,
    rows('entries', "SELECT * FROM rows WHERE NOT (entry = 1 AND amazon_order_id LIKE '%09')"),
  ],
  ['an entry that comes twice', rebuild, rows('entries', 'FROM rows UNION ALL FROM rows WHERE entry = 1')],
  [
    'another role',
    rebuild,
    rows('entries', "SELECT * REPLACE (CASE WHEN entry = 1 THEN 'memo' ELSE role END AS role) FROM rows"),
  ],
  [
    'another hash of an event',
    reread,
    rows('events', "SELECT * REPLACE ('0' || substr(content_hash, 2) AS content_hash) FROM rows"),
  ],
  ['a place that comes twice', reread, rows('events', 'SELECT * REPLACE (0::BIGINT AS position) FROM rows')],
  ['another window', reread, rows('events', 'SELECT * REPLACE (window_end - INTERVAL 1 DAY AS window_end) FROM rows')],
];

test.each(cases)('%s is mended by the command that is named', async (_what, mend, damage) => {
  const lake = whole.copy();
  try {
    const before = await rowsOf(lake);
    await damage(lake.root);
    const mends = await mendsOf(lake);
    expect(mends).toContainEqual(expect.stringMatching(mend));
    expect(mends).not.toContain(null);
    for (const command of mends) if (command !== null) await runCommand(command, lake);
    // A log that was written anew says what is to be loaded again.
    await ran({ lake: lake.root, endpoint: server.url, account: 'shop', from: '2025-02-20', to: '2025-03-08' }, lake);
    expect(await rowsOf(lake)).toEqual(before);
    const result = await verified(lake);
    expect(result.problems.filter(({ kind }) => kind === 'lake')).toEqual([]);
    expect(result.code).toBe(0);
  } finally {
    lake.remove();
  }
});
