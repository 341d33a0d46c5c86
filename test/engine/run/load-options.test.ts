import { expect, test } from 'vitest';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { readLoadOptions, type LoadValues } from '../../../src/engine/run/load-options.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { clock, range, smallSeller, upstreamOf } from './small-run.js';

test('flags are as they are given, and texts are read', () => {
  const read = (given: Readonly<Record<string, string | boolean>>) => readLoadOptions((name) => given[name]);
  const values = { refresh: true, acceptEmpty: false, maxLag: '2h' };
  expect(read(values)).toEqual(values);
  expect(read({})).toEqual({});
});

test('the collector of each slice gets the options of the load', async () => {
  const options: LoadValues = { acceptEmpty: true };
  const received: LoadValues[] = [];
  const collect: typeof financialEvents.collect = (slice, given) => {
    received.push(given);
    return financialEvents.collect(slice, given);
  };
  const lake = await Lake.open(openStore(await temporaryFolder(), { clock }), tables, clock);
  const { summaries, failure } = await runPipelines([{ ...financialEvents, collect }], {
    job: { account: 'shop', range, lake, refresh: false, orders: [], options },
    upstream: upstreamOf(smallSeller()),
    clock,
    signal: new AbortController().signal,
    emit: () => undefined,
    judge: () => 'abort',
    openSlices: 4,
  });
  expect(failure).toBeUndefined();
  expect(received).toHaveLength(summaries[0]?.slices ?? 0);
  expect(received.length).toBeGreaterThan(1);
  expect(received.every((given) => given === options)).toBe(true);
});
