import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { builtCommand } from '../app/built-command.js';
import { sharedOut } from '../campaign.js';
import { serving, type Answer } from './hostile-server.js';
import { expectHeld, Figures, measuredCommand, type Measured } from './measured-command.js';

/** Hostile answers of Finances 2024-06-19 and of payouts, to each pipeline that reads them. */

const megabyte = 1024 * 1024;
const order = '902-1845936-5435065';
const figures = new Figures();
afterAll(() => {
  figures.print();
});

interface Source {
  readonly path: string;
  readonly words: readonly string[];
  /** A body with these results, as JSON, and a token. */
  readonly body: (results: string, token?: string) => string;
}

const transactionsBody = (results: string, token = 'null'): string =>
  `{"payload":{"transactions":${results},"nextToken":${token}}}`;

const sources: Readonly<Record<string, Source>> = {
  transactions: { path: '/finances/2024-06-19/transactions', words: [], body: transactionsBody },
  'order-transactions': {
    path: '/finances/2024-06-19/transactions',
    words: ['--orders', '-'],
    body: transactionsBody,
  },
  'settlement-summaries': {
    path: '/finances/2024-06-19/summary',
    words: [],
    body: (results, token = 'null') => `{"summaries":${results},"nextToken":${token}}`,
  },
  payouts: {
    path: '/finances/transfers/2024-06-01/payouts',
    words: [],
    body: (results, token = 'null') => `{"payouts":${results},"nextToken":${token}}`,
  },
};

/** A transaction of a settlement, whose summary is asked for. */
function transaction(settlement: string, id = 'T-1'): string {
  const at = '2026-11-01T00:00:30Z';
  const related = `{"relatedIdentifierName":"SETTLEMENT_ID","relatedIdentifierValue":${settlement}}`;
  return (
    `{"transactionId":"${id}","transactionType":"Shipment","transactionStatus":"RELEASED","postedDate":"${at}",` +
    `"relatedIdentifiers":[${related}],"totalAmount":{"currencyCode":"USD","currencyAmount":1.5}}`
  );
}

/** Answers what is asked for on the path, and everything else soundly. */
async function answering({ path, body }: Source, answer: Answer): Promise<string> {
  return serving((response, request) => {
    const { url = '' } = request;
    if (url.startsWith(path)) answer(response, request);
    else if (url.startsWith('/finances/2024-06-19/transactions'))
      response.end(transactionsBody(`[${transaction('"1"')}]`));
    else response.end(body('[]'));
  });
}

/** A body of 60 MB comes within the deadline of five minutes, on a busy machine too. */
const bulkSpeed = 50;

async function backfill(
  pipeline: string,
  endpoint: string,
  { speed = 1000, to = '2026-11-01T00:02:00Z' } = {},
): Promise<Measured> {
  const range = ['--from', '2026-11-01T00:00:00Z', '--to', to, '--rate', '1000', '--burst', '1000'];
  const source = ['--account', 'shop', '--endpoint', endpoint, ...(sources[pipeline]?.words ?? [])];
  return measuredCommand(['backfill', pipeline, ...source, ...range, '--quiet'], {
    speed,
    input: [Buffer.from(`${order}\n`)],
  });
}

/** Writes a piece so many times, as long as anybody reads. */
function flood(response: ServerResponse, piece: Buffer | string, most = Infinity, last = ''): void {
  let times = 0;
  const more = (): void => {
    if (response.destroyed) return;
    if (times++ === most) response.end(last);
    else response.write(piece, () => setImmediate(more));
  };
  more();
}

const blanks = Buffer.alloc(megabyte, ' ');
const bomb = gzipSync(Buffer.alloc(500 * megabyte, ' '));
let tokens = 0;

/** By what the answer is: what it says, and how the run ends. */
const broken: Readonly<Record<string, readonly [answer: (source: Source) => Answer, says: RegExp]>> = {
  'body without an end': [
    () => (response) => {
      flood(response, blanks);
    },
    /at most 64 MB/,
  ],
  'body that drips': [
    () => (response) => {
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => {
        clearInterval(timer);
      });
    },
    /its whole answer took too long/,
  ],
  'gzip bomb (500 MB)': [
    () => (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    /at most 64 MB from 127\.0\.0\.1:\d+, got a larger one/,
  ],
  'depth of 1,000': [
    ({ body }) =>
      (response) =>
        response.end(body(`${'['.repeat(1000)}${']'.repeat(1000)}`)),
    /could not read .*, page 1/,
  ],
  '60 MB of values': [
    () => (response) => {
      flood(response, '{"a":[],"b":0},'.repeat(4000), 1000);
    },
    /expected/i,
  ],
  'no list': [() => (response) => response.end('{"payload":{}}'), /list|object/],
  'list null': [
    ({ body }) =>
      (response) =>
        response.end(body('null')),
    /expected a body with a list/,
  ],
  'list an object': [
    ({ body }) =>
      (response) =>
        response.end(body('{}')),
    /expected a body with a list/,
  ],
  'token a number': [
    ({ body }) =>
      (response) =>
        response.end(body('[]', '7')),
    /nextToken/,
  ],
  'token of 20 MB': [
    ({ body }) =>
      (response) =>
        response.end(body('[]', `"${'x'.repeat(20 * megabyte)}"`)),
    /expected|status 4|request/i,
  ],
  'token of half a character': [
    ({ body }) =>
      (response) =>
        response.end(body('[]', '"\\ud800"')),
    /nextToken|repeats/,
  ],
  'token that comes round': [
    ({ body }) =>
      (response) =>
        response.end(body('[]', '"a"')),
    /repeats its pages/,
  ],
  'empty pages without an end': [
    ({ body }) =>
      (response) =>
        response.end(body('[]', `"t${tokens++}"`)),
    /repeats its pages/,
  ],
};

/** What each pipeline gets; only the first one gets all of it, as they read pages in one way. */
const light = ['body without an end', 'no list', 'list null', 'token that comes round'];
const cases = Object.keys(sources).flatMap((pipeline, at) =>
  Object.keys(broken)
    .filter((kind) => at === 0 || light.includes(kind))
    .map((kind) => [pipeline, kind] as const),
);

test.each(sharedOut(cases))('%s: %s', async (pipeline, kind) => {
  const source = sources[pipeline];
  const [answer, says] = broken[kind] ?? [];
  if (source === undefined || answer === undefined || says === undefined) throw new Error('no such case');
  const speed = /MB|without an end/.test(kind) ? bulkSpeed : 1000;
  const ended = await backfill(pipeline, await answering(source, answer(source)), { speed });
  await expectHeld(ended, { code: 1, says });
  figures.held(kind, ended);
});

const odd: Readonly<Record<string, string>> = {
  'a number': '12',
  null: 'null',
  'an object': '{"a":1}',
  'an array': '["x"]',
  empty: '""',
  '..': '".."',
  'a path': '"../../etc/passwd"',
  '20 kB': `"${'x'.repeat(20_000)}"`,
  'control characters': '"\\u0000\\n\\u001b[2J\\u009b"',
  'half a character': '"\\ud800"',
  'another query': '"1&relatedIdentifierName=ORDER_ID#"',
  SQL: '"\'; DROP TABLE events; --"',
};

/** Every field of a record, as an id and a text of its own. */
function oddRecord(value: string): Readonly<Record<string, string>> {
  const member = (names: readonly string[]): string => names.map((name) => `"${name}":${value}`).join(',');
  const money = `{"currencyCode":${value},"currencyAmount":${value}}`;
  return {
    transactions: `{${member(['transactionId', 'transactionType', 'transactionStatus', 'description', 'postedDate', 'marketplaceName', 'items', 'breakdowns', 'contexts'])},"relatedIdentifiers":[${value},{"relatedIdentifierName":"ORDER_ID","relatedIdentifierValue":${value}},{"relatedIdentifierName":${value}}],"totalAmount":${money}}`,
    'settlement-summaries': `{${member(['periodStart', 'periodEnd', 'partnerMetadata'])},"netProceeds":${money}}`,
    payouts: `{${member(['id', 'currentStatus', 'type', 'accountTail', 'creationDate', 'period', 'traceId'])},"relatedIdentifiers":[${value},{"relatedIdentifierName":"SETTLEMENT_ID","relatedIdentifierValue":${value}}],"amount":${money}}`,
  };
}

/** How many rows each table of the lake has. */
async function rows(ended: Measured, table: string): Promise<number> {
  const query = `SELECT count(*)::INT AS n FROM ${table}`;
  const { out, err } = await builtCommand(['sql', '--lake', 'lake', '--format', 'csv', query], ended);
  expect(err).toBe('');
  return Number(out.split('\n')[1]);
}

test.each(Object.entries(sources))(
  'odd values in every field of what %s reads: no record is lost, and the same id is one record',
  async (name, source) => {
    const records = Object.values(odd).flatMap((value) => {
      const record = oddRecord(value)[name] ?? oddRecord(value)['transactions'] ?? '';
      return [record, record];
    });
    const list = `[${[...records, 'null', '7', '"x"', '[]', '{}'].join(',')}]`;
    const ended = await backfill(name, await answering(source, (response) => response.end(source.body(list))));
    await expectHeld(ended, { code: 0 });
    const withoutId = Object.values(odd).filter((value) => !/^".+"$/.test(value)).length;
    expect(await rows(ended, name.replace('-', '_'))).toBe(Object.keys(odd).length + withoutId + 5);
    figures.held(`odd values in every field: ${name}`, ended);
  },
);

test('settlements with odd ids: the summaries of the others load', async () => {
  const ids = ['"1"', ...Object.values(odd), '"2"', '"3"'];
  const asked: string[] = [];
  const endpoint = await serving((response, { url = '' }) => {
    if (url.startsWith('/finances/2024-06-19/transactions')) {
      response.end(transactionsBody(`[${ids.map((id, index) => transaction(id, `T-${index}`)).join(',')}]`));
      return;
    }
    const id = new URL(url, 'http://x').searchParams.get('relatedIdentifierValue') ?? '';
    asked.push(id);
    // As the service does: an id that it can't have given is a mistake of whoever asks.
    if (/^\d$/.test(id)) response.end('{"summaries":[{"netProceeds":{"currencyCode":"USD","currencyAmount":1.5}}]}');
    else {
      const message = 'relatedIdentifierValue is malformed: it must be an identifier.';
      response.writeHead(400).end(JSON.stringify({ errors: [{ code: 'InvalidInput', message }] }));
    }
  });
  const ended = await backfill('settlement-summaries', endpoint);
  await expectHeld(ended, { code: 1, says: /left open settlement-summaries settlement .*, and \d more: / });
  expect(asked).toEqual(expect.arrayContaining(['1', '2', '3', '..']));
  expect(asked.filter((id) => id === '' || id.length > 2048)).toEqual([]);
  expect(await rows(ended, 'settlement_summaries')).toBe(3);
  figures.held('settlements with odd ids', ended);
});

test('a page that comes twice with a token of its own counts once', async () => {
  const bodies = [transactionsBody(`[${transaction('"1"')}]`, '"t"'), transactionsBody(`[${transaction('"1"')}]`)];
  const endpoint = await serving((response, { url = '' }) => response.end(bodies[url.includes('nextToken') ? 1 : 0]));
  const ended = await backfill('transactions', endpoint);
  await expectHeld(ended, { code: 0 });
  expect(await rows(ended, 'transactions')).toBe(1);
  figures.held('pages that come twice', ended);
});

test('tokens that come round for every window: the windows are split into days, and not further', async () => {
  const windows = new Map<string, number>();
  const endpoint = await serving((response, { url = '' }) => {
    const asked = new URL(url, 'http://x').searchParams;
    const [after, before] = [asked.get('postedAfter') ?? '', asked.get('postedBefore') ?? ''];
    windows.set(`${after} ${before}`, Date.parse(before) - Date.parse(after));
    response.end(transactionsBody(`[${transaction('"1"')}]`, '"a"'));
  });
  const ended = await backfill('transactions', endpoint, { to: '2026-11-21', speed: 50 });
  await expectHeld(ended, { code: 1, says: /repeats its pages/ });
  // Windows are counted, not requests: a token that expires on a busy machine has its window read again.
  const spans = [...windows.values()];
  const day = 86_400_000;
  // Twenty days, and the 17 windows that three slices were split into before.
  expect(spans.filter((span) => span >= day)).toHaveLength(37);
  expect(spans.filter((span) => span < day)).toEqual([]);
  figures.held('tokens that come round for every window', ended);
});

test('pages with rows whose tokens never end', async () => {
  const filler = ' '.repeat(30 * megabyte);
  const endpoint = await serving((response) => {
    const one = transaction('"1"', `T-${tokens}`);
    response.end(filler + transactionsBody(`[${one}]`, `"t${tokens++}"`));
  });
  const ended = await measuredCommand(
    [
      ...['backfill', 'order-transactions', '--orders', '-', '--account', 'shop', '--endpoint', endpoint],
      ...['--rate', '1000', '--burst', '1000', '--quiet'],
    ],
    { input: [Buffer.from(`${order}\n`)] },
  );
  await expectHeld(ended, { code: 1, says: /repeats its pages/ });
  figures.held('pages with rows, tokens that never end', ended);
});
