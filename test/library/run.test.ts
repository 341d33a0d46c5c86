import { getEventListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  backfill,
  LedgerlakeError,
  openLake,
  RunError,
  sync,
  type RunEvent,
  type RunSummary,
} from '../../src/index.js';
import { summaryFields } from '../app/built-command.js';
import { fileContents, fileHashes, temporaryFolder } from '../app/lake-run.js';
import { secrets } from '../engine/auth/token-endpoint.js';
import { early, from, servedShop, to } from './served.js';
import { failureOf } from '../failure-of.js';

const pipelines = ['financial-events'];

/** What a run that failed on its way had come to; undefined of any other failure. */
function summaryOf(failure: LedgerlakeError): RunSummary | undefined {
  return failure instanceof RunError ? failure.summary : undefined;
}

/** What is written to the process's own outputs, and what listens to it. */
function processWatch() {
  const written: string[] = [];
  const outputs = [process.stdout, process.stderr].map((output) =>
    vi.spyOn(output, 'write').mockImplementation((text) => written.push(String(text)) > 0),
  );
  const restore = (): void => {
    for (const output of outputs) output.mockRestore();
  };
  onTestFinished(restore);
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection', 'exit'];
  const listeners = () => names.map((name) => process.listenerCount(name));
  return { written, listeners, before: listeners(), exitCode: process.exitCode, restore };
}

describe('a run', () => {
  test('gives the summary that --json prints, and leaves the process as it was', async () => {
    const shop = await servedShop();
    const events: RunEvent[] = [];
    const watch = processWatch();
    const summary = await backfill({ ...shop, from, to, onEvent: (event) => events.push(event) });
    watch.restore();
    expect(watch.written).toEqual([]);
    expect(watch.listeners()).toEqual(watch.before);
    expect(process.exitCode).toBe(watch.exitCode);

    expect(summary).toMatchObject({ status: 'done', account: 'shop', lake: shop.lake, from: from.toISOString() });
    expect(Object.keys(summary.pipelines)).toEqual(['financial-event-groups', 'financial-events', 'group-events']);
    const byDate = summary.pipelines['financial-events'];
    expect(Object.keys(byDate ?? {})).toEqual(
      expect.arrayContaining([...summaryFields, 'rows', 'warnings', 'left_open']),
    );
    expect(byDate?.events).toBeGreaterThan(0);
    expect(events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['run-started', 'slice-committed', 'request-answered', 'run-ended']),
    );

    const again = await backfill({ ...shop, from: from.toISOString(), to: to.toISOString() });
    expect(Object.values(again.pipelines).map(({ requests }) => requests)).toEqual([0, 0, 0]);
  });

  test('of a sync tells of changes and of the age of the lake', async () => {
    const shop = await servedShop();
    await backfill({ ...shop, pipelines, from });
    const summary = await sync({ ...shop, pipelines, lookBack: 3, maxLag: '2h' });
    expect(summary.changes).toEqual({});
    expect(summary.emptied).toEqual([]);
    expect(summary.lag_seconds).toBeLessThan(3600);
    const page = await readFile('docs/json.md', 'utf8');
    for (const name of [summary, ...Object.values(summary.pipelines)].flatMap((object) => Object.keys(object))) {
      expect(page).toContain(`\`${name}\``);
    }
  });

  test('and another one at once, each into its own lake, do not know of each other', async () => {
    const [shop, other] = [await servedShop(), { ...(await servedShop({ seed: 8 })), account: 'other' }];
    const accounts = new Map<string, Set<unknown>>();
    const loaded = await Promise.all(
      [shop, other].map((options) => {
        const seen = new Set<unknown>();
        accounts.set(options.account, seen);
        return backfill({
          ...options,
          pipelines,
          from,
          to,
          onEvent: (event) => {
            if (event.event === 'run-started') seen.add(event.account);
          },
        });
      }),
    );
    expect(loaded.map(({ status }) => status)).toEqual(['done', 'done']);
    expect([...accounts].map(([account, seen]) => [account, ...seen])).toEqual([
      ['shop', 'shop'],
      ['other', 'other'],
    ]);
    const alone = { ...shop, lake: await temporaryFolder() };
    await backfill({ ...alone, pipelines, from, to });
    expect(await fileContents(join(shop.lake, 'events', 'account=shop'))).toEqual(
      await fileContents(join(alone.lake, 'events', 'account=shop')),
    );
  });
});

describe('what stops a run', () => {
  test('its signal does, as Ctrl-C would: what was committed stays, and the next run goes on from there', async () => {
    const shop = await servedShop();
    const stopping = new AbortController();
    const events: string[] = [];
    const why = new Error('too long');
    let committed = 0;
    const stopped = await failureOf(
      backfill({
        ...shop,
        pipelines,
        from: early,
        to,
        signal: stopping.signal,
        onEvent: ({ event }) => {
          events.push(event);
          if (event === 'slice-committed' && ++committed === 1) stopping.abort(why);
        },
      }),
    );
    expect(stopped).toBeInstanceOf(RunError);
    expect(stopped).toMatchObject({ code: 'STOPPED', exitCode: 1 });
    expect(stopped.cause).toBe(why);
    const summary = summaryOf(stopped);
    expect(summary).toMatchObject({ status: 'failed', error: { code: 'STOPPED', message: stopped.message } });
    expect(summary?.pipelines['financial-events']?.slices).toBe(committed);
    expect(events).toEqual(expect.arrayContaining(['stopping', 'run-ended']));
    expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);

    const rest = await backfill({ ...shop, pipelines, from: early, to });
    expect(rest.pipelines['financial-events']?.slices).toBeGreaterThan(0);
    const whole = { ...shop, lake: await temporaryFolder() };
    await backfill({ ...whole, pipelines, from: early, to });
    const sums = await Promise.all(
      [shop.lake, whole.lake].map(async (path) => {
        const lake = await openLake(path);
        const rows = await lake.sql('SELECT count(*), sum(hash(event_id, raw)) FROM events');
        await lake.close();
        return rows;
      }),
    );
    expect(sums[0]).toEqual(sums[1]);
  });

  test('before it begins nothing is touched', async () => {
    const shop = await servedShop();
    for (const why of [new Error('too late'), new LedgerlakeError('USAGE', 'another call failed'), 'a text', null]) {
      const stopped = await failureOf(backfill({ ...shop, signal: AbortSignal.abort(why) }));
      expect(stopped).toMatchObject({ code: 'STOPPED', cause: why });
    }
    expect(await fileHashes(shop.lake)).toEqual(new Map());
  });

  test('a signal that outlives many runs keeps nothing of them', async () => {
    const shop = await servedShop();
    const { signal } = new AbortController();
    for (let run = 0; run < 3; run++) await backfill({ ...shop, pipelines, from, to, signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('what its listener throws does, and comes out as it was', async () => {
    const shop = await servedShop();
    const fault = new TypeError('the listener is wrong');
    const run = backfill({
      ...shop,
      pipelines,
      from,
      to,
      onEvent: ({ event }) => {
        if (event === 'slice-committed') throw fault;
      },
    });
    await expect(run).rejects.toBe(fault);
    const last = backfill({
      ...shop,
      pipelines,
      from,
      to,
      onEvent: ({ event }) => {
        if (event === 'run-ended') throw fault;
      },
    });
    await expect(last).rejects.toBe(fault);
  });

  test('what its listener rejects with does too, where the listener is an async function', async () => {
    const shop = await servedShop();
    const fault = new TypeError('the listener is wrong');
    const onEvent: (event: RunEvent) => unknown = async ({ event }) => {
      await Promise.resolve();
      if (event === 'slice-committed') throw fault;
    };
    await expect(backfill({ ...shop, pipelines, from, to, onEvent })).rejects.toBe(fault);
  });
});

describe('options', () => {
  test.each<[object, RegExp]>([
    [{ refrsh: true }, /an option of backfill, got "refrsh"; did you mean refresh\?/],
    [{ lake: 5 }, /the option lake of backfill to be a text/],
    [{ lake: '' }, /the option lake of backfill to be a text/],
    [{ pipelines: 'financial-events' }, /the option pipelines of backfill to be a list of texts/],
    [{ refresh: 'yes' }, /the option refresh of backfill to be true or false/],
    [{ signal: {} }, /the option signal of backfill to be an AbortSignal/],
    [{ onEvent: 'log' }, /the option onEvent of backfill to be a function/],
    [{ pipelines: ['financial-event'] }, /expected a pipeline \(.*did you mean financial-events\?/],
    [{ from: 'yesterday' }, /expected `from` to be an ISO 8601 date/],
    [{ from: new Date(Number.NaN) }, /expected `from` to be an ISO 8601 date/],
    [{ from: '2026-02-02', to: '2026-02-01' }, /expected `from` to be earlier than `to`/],
    [{ rate: 0 }, /expected `rate` to be a number greater than 0/],
    [{ burst: 1.5 }, /expected `burst` to be a whole number from 1/],
    [{ api: 'v1' }, /expected `api` to be one of v0, 2024-06-19, both/],
    [{ endpoint: 'nowhere' }, /expected `account` with `endpoint`/],
    [{ account: 'shop' }, /expected an endpoint for the account shop/],
    [{ account: 'shop', endpoint: 'nowhere' }, /expected the endpoint to be a base address/],
    [{ pipelines: ['order-events'] }, /expected `orders` for the pipeline order-events/],
    [{ pipelines: ['order-events'], orders: ['1'] }, /order id of 3-7-7 digits.*in the option orders, line 1/],
    [
      { pipelineFolder: '/nowhere' },
      /expected a folder of custom pipelines, got \/nowhere \(it does not exist\); check `pipelineFolder`, LEDGERLAKE_PIPELINES/,
    ],
    [{ config: '/nowhere.json' }, /expected the configuration \/nowhere.json/],
    [{ credentials: { clientId: 'a', clientSecret: 'b' } }, /the option credentials of backfill to be an object with/],
    [{ credentials: { ...secrets } }, /expected `account` with credentials/],
  ])('%j is refused as the command line refuses it', async (options, message) => {
    const lake = await temporaryFolder();
    const failure = await failureOf(backfill({ lake, ...options }));
    expect(failure).toMatchObject({ code: 'USAGE', exitCode: 2 });
    expect(failure.message).toMatch(message);
    expect(failure).not.toBeInstanceOf(RunError);
    expect(await fileHashes(lake)).toEqual(new Map());
  });

  test.each<[object, RegExp]>([
    [{ lookBack: -1 }, /expected `lookBack` to be a whole number of days from 0/],
    [{ maxLag: 'soon' }, /expected `maxLag` to be/],
    [{ refresh: true }, /an option of sync, got "refresh"/],
  ])('%j is refused by sync', async (options, message) => {
    const failure = await failureOf(sync({ lake: await temporaryFolder(), ...options }));
    expect(failure.code).toBe('USAGE');
    expect(failure.message).toMatch(message);
  });

  test('no secret is in what is thrown or told, and a wrong one is refused', async () => {
    const shop = await servedShop({ signIn: { ...secrets, refreshTokens: [secrets.refreshToken] } });
    const credentials = { ...secrets, tokenEndpoint: `${shop.endpoint}/auth/o2/token` };
    const told: unknown[] = [];
    const options = { ...shop, pipelines, from, to, onEvent: (event: RunEvent) => told.push(event) };
    const summary = await backfill({ ...options, credentials });
    const refused = await failureOf(
      backfill({ ...options, refresh: true, credentials: { ...credentials, clientSecret: 'another secret' } }),
    );
    expect(refused.code).toBe('SIGN_IN_REFUSED');
    const seen = JSON.stringify([told, summary, refused.message, refused.details, summaryOf(refused)]);
    for (const secret of [secrets.clientSecret, secrets.refreshToken, 'another secret'])
      expect(seen).not.toContain(secret);
  });
});
