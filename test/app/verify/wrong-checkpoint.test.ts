import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Action } from '../../../src/lake/delta/actions.js';
import { withChecksum } from '../../../src/lake/delta/checkpoint.js';
import { encodeCheckpoint } from '../../../src/lake/delta/checkpoint.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { compacted, rebuilt } from '../maintenance/kept-lake.js';
import { DeltaTable } from '../../../src/lake/delta/delta-table.js';
import { addsOf } from './damage.js';
import { loadedLake } from './loaded-lake.js';
import { found, verified } from './verified.js';

test('a checkpoint with a right checksum that lacks a file is found by verify, and compact goes by the commits', async () => {
  const lake = await loadedLake(undefined, [{ pipelines: ['financial-events'], from: '2025-03-01' }]);
  onTestFinished(() => {
    lake.remove();
  });
  const { root, clock } = lake;
  const events = (await verified({ root, clock })).checks.find(({ check }) => check === 'unique-ids')?.checked;
  const adds = addsOf(root, 'events');
  const padded = (version: number) => String(version).padStart(20, '0');
  const first = readFileSync(join(root, 'events/_delta_log', `${padded(0)}.json`), 'utf8');
  const actions = first.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Action]));
  const protocol = actions.flatMap((action) => ('protocol' in action ? action.protocol : []))[0];
  const metaData = actions.flatMap((action) => ('metaData' in action ? action.metaData : []))[0];
  if (protocol === undefined || metaData === undefined) throw new Error('the first commit describes the table');
  const { version, txns } = (await Lake.open(openStore(root), tables, clock)).table('events').snapshot;
  const state = { protocol, metaData, files: adds.slice(1), txns: txns.values() };
  const { bytes } = await encodeCheckpoint(state);
  const checkpoint = `events/_delta_log/${padded(version)}.checkpoint.parquet`;
  writeFileSync(join(root, checkpoint), withChecksum(bytes, `events/${version}`));
  writeFileSync(join(root, 'events/_delta_log/_last_checkpoint'), JSON.stringify({ version, size: 1 }));

  const result = await verified({ root, clock });
  expect(result.code).toBe(1);
  expect(result.problems.find(({ file }) => file === checkpoint)).toMatchObject({
    check: 'log-tags',
    kind: 'lake',
    problem:
      `expected the checkpoint to equal its commits, it lacks 1 file (${adds[0]?.path ?? ''}); ` +
      'the commits are valid',
    mend: `ledgerlake compact --lake ${root}`,
  });
  // A file that is missing comes first, as compact fails at it.
  const missing = join(root, 'entries', addsOf(root, 'entries')[0]?.path ?? '');
  const kept = readFileSync(missing);
  rmSync(missing);
  const mends = new Set((await verified({ root, clock })).problems.map(({ mend }) => mend?.split(' ')[1]));
  expect([...mends].filter((word) => word !== undefined)).toEqual(['rebuild', 'compact']);
  writeFileSync(missing, kept);

  const logged: string[] = [];
  await compacted({ lake: root }, { clock, log: (line) => logged.push(line) });
  expect(logged).toContain(`removed ${checkpoint}, which contradicted its commits; a new one replaces it`);
  const after = await verified({ root, clock });
  expect([found(after), after.code]).toEqual([[], 0]);
  expect(after.checks.find(({ check }) => check === 'unique-ids')).toMatchObject({ checked: events });
});

test('of a damaged commit that a checkpoint stands for one command is named, and a rebuild of the logs takes it', async () => {
  const lake = await loadedLake(undefined, [{ pipelines: ['financial-events'], from: '2025-03-01' }]);
  onTestFinished(() => {
    lake.remove();
  });
  const { root, clock } = lake;
  const schema = tables.find(({ name }) => name === 'events');
  if (schema === undefined) throw new Error('no table');
  const table = new DeltaTable(schema, openStore(root), clock);
  await table.refresh();
  for (let at = 0; at < 25; at++) await table.commit('FENCE', () => []);
  const commit = `events/_delta_log/${'0'.repeat(20)}.json`;
  truncateSync(join(root, commit), 200);

  const { problems } = await verified({ root, clock });
  expect(problems.filter(({ kind }) => kind === 'lake')).toMatchObject([
    {
      file: commit,
      problem: expect.stringMatching(/; restore the file from a copy, or write the log anew$/) as string,
      mend: `ledgerlake rebuild financial-events --log --lake ${root}`,
    },
  ]);
  // Errors of other commands name it without a pipeline.
  await rebuilt({ lake: root, log: { confirm: true } }, { clock });
  expect((await verified({ root, clock })).problems.filter(({ kind }) => kind === 'lake')).toEqual([]);
});
