import { afterEach, expect, test } from 'vitest';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { forget } from '../../../src/app/forget/forget.js';
import { rebuild } from '../../../src/app/maintenance/rebuild-lake.js';
import { addsOf } from './damage.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { shipment, smallItems, smallBackend } from './small-backend.js';
import { found, verified } from './verified.js';

const orders = ['111-0000000-0000001', '111-0000000-0000014'];

let lake: LoadedLake;
afterEach(() => {
  lake.remove();
});

const maintained = () => ({ lake: lake.root, pipelines: [], account: undefined });
const context = () => ({
  clock: lake.clock,
  signal: new AbortController().signal,
  emit: () => undefined,
  confirm: undefined,
});

test('a lake stays whole when it is read again, compacted and made again', async () => {
  lake = await loadedLake(undefined, [
    { to: '2025-03-05' },
    { pipelines: ['order-events'], orders },
    { from: '2025-02-24', to: '2025-03-05', refresh: true },
    {},
  ]);
  expect(found(await verified(lake, true))).toEqual([]);
  const files = addsOf(lake.root, 'events').length;
  await compact(maintained(), context());
  expect(addsOf(lake.root, 'events').length).toBeLessThan(files);
  expect(found(await verified(lake, true))).toEqual([]);
  await rebuild(maintained(), context());
  expect(found(await verified(lake, true))).toEqual([]);
});

test('an event that two windows hold stays upstream’s fault when their files are merged', async () => {
  const twice = shipment('2025-03-02T00:00:00Z', '77', '1', '-1', 'GROUP-0');
  const items = [...smallItems(), twice, { ...twice, at: Date.parse('2025-03-04T00:00:00Z') }];
  lake = await loadedLake(smallBackend(items), [
    { pipelines: ['financial-events'], to: '2025-03-03' },
    { pipelines: ['financial-events'], from: '2025-03-03' },
  ]);
  await compact(maintained(), context());
  const result = await verified(lake);
  expect(found(result)).toEqual(['unique-ids finding', 'event-dates finding']);
  expect(result.code).toBe(0);
});

test('a group of which events were forgotten is not compared', async () => {
  lake = await loadedLake();
  const options = { lake: lake.root, account: 'shop', before: '2025-03-01', yes: true };
  await forget(options, context());
  const result = await verified(lake, true);
  expect(found(result)).toEqual(['group-totals note']);
  expect(result.problems).toMatchObject([{ kind: 'note', slice: 'group/GROUP-1' }]);
  expect(result.code).toBe(0);
});

test('nor is a group of which all events were forgotten', async () => {
  lake = await loadedLake();
  await forget({ lake: lake.root, account: 'shop', before: '2025-03-05T12:00:00Z', yes: true }, context());
  const result = await verified(lake, true);
  expect(found(result)).toEqual(['group-totals note']);
  expect(result.problems).toMatchObject([{ kind: 'note', slice: 'group/GROUP-1' }]);
  expect(result.code).toBe(0);
});

test('a group that begins before the lake is compared where nothing was forgotten', async () => {
  lake = await loadedLake(
    smallBackend(smallItems().filter(({ at, list }) => list === '' || at >= Date.parse('2025-03-01T00:00:00Z'))),
  );
  const result = await verified(lake);
  expect(found(result)).toContain('group-totals finding');
});

test('a lake that has forgotten all is whole', async () => {
  lake = await loadedLake();
  const options = { lake: lake.root, account: 'shop', before: undefined, yes: true };
  await forget(options, context());
  expect(await verified(lake, true)).toMatchObject({ code: 0, verdict: 'whole', problems: [] });
});
