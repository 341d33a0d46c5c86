import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { builtCommand, summaryFields } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';

const range = ['--from', '2025-01-01', '--to', '2025-03-01'];

test('a dry run tells what a plan tells, and leaves nothing behind', async () => {
  const folder = await temporaryFolder();
  const plan = await builtCommand(['plan', ...range], { folder });
  const dry = await builtCommand(['backfill', '--dry-run', ...range], { folder });
  expect(plan).toMatchObject({ code: 0, err: '' });
  expect(dry).toMatchObject({ code: 0, err: '', out: plan.out });
  expect(plan.out).toContain('Loading 2025-01-01 to 2025-03-01 for demo into data/lake would be\n');
  expect(plan.out).toContain('without a quota the time depends on the answers');
  const json = await builtCommand(['backfill', '--dry-run', '--json', ...range], { folder });
  const object = await builtCommand(['plan', '--format', 'json', ...range], { folder });
  const summary = JSON.parse(json.out) as { status: string; pipelines: Record<string, object> };
  const planned = JSON.parse(object.out) as { pipelines: { pipeline: string }[] };
  expect(summary).toMatchObject({ status: 'planned', known: false, account: 'demo', lake: 'data/lake' });
  expect(Object.keys(summary.pipelines)).toEqual(planned.pipelines.map(({ pipeline }) => pipeline));
  for (const one of planned.pipelines) {
    expect(summary.pipelines[one.pipeline]).toMatchObject(one);
    expect(Object.keys(summary.pipelines[one.pipeline] ?? {})).toEqual(expect.arrayContaining(summaryFields));
  }
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  [['plan', 'financial-event'], 'expected a pipeline'],
  [['plan', '--from', '2025-03-01', '--to', '2025-01-01'], 'expected --from to be earlier than --to'],
  [['plan', '--from', 'yesterday'], 'expected --from to be an ISO 8601 date'],
  [['plan', '--account', 'shop'], 'expected an endpoint for the account shop, but there is no ledgerlake.config.json'],
  [['plan', '--endpoint', 'nowhere', '--account', 'shop'], 'check the endpoint'],
  [['plan', 'order-events'], 'expected --orders FILE'],
  [['plan', '--rate', '0'], '--rate'],
  [['plan', '--burst', '1.5'], '--burst'],
  [['plan', '--format', 'xml'], 'format'],
  [['plan', '--lake', 'ftp://there'], 'expected the lake'],
])('%j is refused', async (words, message) => {
  const folder = await temporaryFolder();
  const { code, out, err } = await builtCommand(words, { folder });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
  expect(err.trimEnd().split('\n')).toHaveLength(1);
  expect(await readdir(folder)).toEqual([]);
});

test('the probing command that a plan prints is of the same pipelines, and works', async () => {
  const folder = await temporaryFolder();
  const { out } = await builtCommand(['plan', 'group-events', ...range], { folder });
  const command = / {2}(?:npx )?ledgerlake (.+)\n$/.exec(out)?.[1] ?? '';
  expect(command).toBe(`plan --probe group-events --lake data/lake --account demo ${range.join(' ')}`);
  expect(await builtCommand(command.split(' '), { folder })).toMatchObject({ code: 0, err: '' });
  const there = ['--endpoint', 'http://127.0.0.1:9', '--account', 'shop', '--api', 'both'];
  const named = await builtCommand(['plan', ...there, ...range], { folder });
  expect(named.out).toContain('plan --probe --lake data/lake --account shop --api both --endpoint http://127.0.0.1:9 ');
  // What the configuration says it says to the printed command too.
  await builtCommand(['init', '--account', 'shop', '--region', 'eu'], { folder });
  expect((await builtCommand(['plan', ...range], { folder })).out).toMatch(
    /plan --probe --lake \S+ --account shop --from/,
  );
});

test('where no request is sent, no credentials are needed', async () => {
  const folder = await temporaryFolder();
  expect(await builtCommand(['init', '--account', 'shop', '--region', 'eu'], { folder })).toMatchObject({ code: 0 });
  expect(await builtCommand(['plan', ...range], { folder })).toMatchObject({ code: 0, err: '' });
  expect(await builtCommand(['backfill', '--dry-run', ...range], { folder })).toMatchObject({ code: 0, err: '' });
  const probe = await builtCommand(['plan', '--probe', ...range], { folder });
  expect(probe).toMatchObject({ code: 2 });
  expect(probe.err).toMatch(/LEDGERLAKE_CLIENT_ID_SHOP, LEDGERLAKE_CLIENT_SECRET_SHOP, .*, which are not set/);
});
