import * as zlib from 'node:zlib';
import { expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.js';
import { clockAt, database, temporaryFolder } from '../lake-run.js';
import { settlement, shipment } from '../load/backend-items.js';
import { eventsBody, fileOf, groupsBody, imported, value } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');

const bodies = [1, 2, 3].map((day) =>
  eventsBody([shipment(`2025-03-0${day}T10:00:00Z`, `111-0000000-000000${day}`)], 'next'),
);
const groups = groupsBody([settlement('G1', '2025-03-01T00:00:00Z', '2025-03-04T00:00:00Z')]);
const all = [...bodies, groups];

/** The rows of an import: raw texts without white space, as what is printed on several lines has some. */
async function rows(root: string): Promise<string> {
  const sql =
    "SELECT list(regexp_replace(raw, '\\s', '', 'g') ORDER BY posted_at) FROM events UNION ALL SELECT list(regexp_replace(raw, '\\s', '', 'g')) FROM groups";
  return JSON.stringify(await (await database(root, clock)).rows(sql));
}

function inner(body: string): unknown {
  return (JSON.parse(body) as { payload: unknown }).payload;
}

const parsed = all.map((body) => JSON.parse(body) as unknown);
const utf16 = (text: string, mark = '\ufeff') => Buffer.from(mark + text, 'utf16le');
const lines = all.map((body) => `${body}\r\n`).join('');

let ofLines: Promise<string> | undefined;

/** The rows of a body a line. */
async function rowsOfLines(): Promise<string> {
  const root = await temporaryFolder();
  await imported({ root, clock }, [await fileOf(all)]);
  return rows(root);
}

test.each<[string, string | Buffer]>([
  ['UTF-16 with its low byte first, as PowerShell writes it', utf16(lines)],
  ['UTF-16 with its high byte first', utf16(lines).swap16()],
  ['UTF-16 without a byte order mark', utf16(lines, '')],
  ['payloads without their envelope', all.map((body) => `${JSON.stringify(inner(body))}\n`).join('')],
  [
    'pages printed on several lines, one after the other',
    all.map((_, at) => `${JSON.stringify(parsed[at], null, 2)}\n`).join(''),
  ],
  ['an array of pages on a line', JSON.stringify(parsed)],
  ['an array of pages printed on several lines', JSON.stringify(parsed, null, 4)],
  ['an array of lines', `[\n${all.join(',\n')}\n]\n`],
  ['an array of payloads behind a byte order mark', `\ufeff${JSON.stringify(all.map(inner), null, '\t')}`],
  ['UTF-16, printed on several lines and compressed', zlib.gzipSync(utf16(JSON.stringify(parsed, null, 2)))],
])('%s: the same rows as a body a line', async (_, text) => {
  ofLines ??= rowsOfLines();
  const got = await temporaryFolder();
  const { failure } = await imported({ root: got, clock }, [
    await fileOf(Buffer.isBuffer(text) ? text : Buffer.from(text)),
  ]);
  expect(failure).toBeUndefined();
  expect(await rows(got)).toBe(await ofLines);
  expect(await value(await database(got, clock), 'SELECT count(*) FROM events')).toBe('3');
});

test.each<[string, string | Buffer, RegExp]>([
  [
    'a page of transactions without its envelope',
    '{"transactions":[{"transactionId":"T1"}]}',
    /line 1: .*found transactions: .* 2024-06-19 cannot be imported/,
  ],
  ['an array that is cut off', `[\n${bodies[0]},\n${bodies[1]}`, /line 3: expected /],
  ['a printed page that is cut off', JSON.stringify(parsed[0], null, 2).slice(0, -20), /line 1: expected /],
  ['an array of other things', '[\n1,\n"a"]', /line 2: expected /],
  [
    'UTF-16 that is cut off',
    utf16(`${bodies[0]}`).subarray(0, -1),
    /line 1: the file begins as UTF-16 .*`iconv -f UTF-16 -t UTF-8`/,
  ],
])('%s is refused by name', async (_, text, message) => {
  const { failure } = await imported({ root: await temporaryFolder(), clock }, [
    await fileOf(Buffer.isBuffer(text) ? text : Buffer.from(text)),
  ]);
  expect(failure).toMatchObject({ code: 'BROKEN_LINE', exitCode: 1 });
  expect(messageOf(failure)).toMatch(message);
});

test('zstd is read where Node does, or named with the way out', async () => {
  const functions: Readonly<Record<string, unknown>> = { ...zlib };
  const { zstdCompressSync: compress } = functions;
  const isAvailable = typeof compress === 'function';
  const bytes = isAvailable ? (compress as (text: string) => Buffer)(lines) : Buffer.from('28b52ffd0000', 'hex');
  const root = await temporaryFolder();
  const { failure } = await imported({ root, clock }, [await fileOf(bytes, 'pages.ndjson.zst')]);
  if (isAvailable) expect(await value(await database(root, clock), 'SELECT count(*) FROM events')).toBe('3');
  else expect(messageOf(failure)).toMatch(/line 1: the file is zstd, which needs Node 22\.15; pipe `zstd -dc`/);
});
