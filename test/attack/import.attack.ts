import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { afterAll, test } from 'vitest';
import { fileOf } from '../app/import/imported.js';
import { temporaryFolder } from '../app/lake-run.js';
import { sharedOut } from '../campaign.js';
import { expectHeld, Figures, measuredCommand } from './measured-command.js';

const megabyte = 1024 * 1024;
const good =
  '{"payload":{"FinancialEvents":{"ServiceFeeEventList":[{"PostedDate":"2026-01-01T00:00:00Z","FeeList":' +
  '[{"FeeType":"A","FeeAmount":{"CurrencyCode":"USD","CurrencyAmount":-1.5}}]}]}}}\n';

const figures = new Figures();
afterAll(() => {
  figures.print();
});

function* repeated(text: string, megabytes: number, first = '', last = ''): Generator<Buffer> {
  const piece = Buffer.from(text.repeat(megabyte / text.length));
  yield Buffer.from(first);
  for (let at = 0; at < megabytes; at++) yield piece;
  yield Buffer.from(last);
}

function* endless(text: string): Generator<Buffer> {
  const piece = Buffer.alloc(megabyte, text);
  for (;;) yield piece;
}

/** A file of pieces that are never in memory at once. */
async function written(pieces: Iterable<Buffer>, isGzip: boolean): Promise<string> {
  const path = join(await temporaryFolder(), isGzip ? 'pages.ndjson.gz' : 'pages.ndjson');
  const file = createWriteStream(path);
  await (isGzip ? pipeline(Readable.from(pieces), createGzip(), file) : pipeline(Readable.from(pieces), file));
  return path;
}

const long = /line 1: expected a response body, found a line of more than 32 MB; correct it/;
const many = /line 1: expected JSON of at most 4194304 values, found more; correct it/;
/** Arrays around pages are left away, one by one. */
const noPage = /line 1: expected a body with a "payload" object, found 0; correct it/;
const cutOff = /line \d+: expected a value, found the end at byte 1; correct it/;

test.each(
  sharedOut<[string, () => Iterable<Buffer>, boolean, number, RegExp?]>([
    ['gzip bomb of `0,` (250 MB)', () => repeated('0,', 250, '[', '0]\n'), true, 1, noPage],
    ['gzip bomb of one digit (500 MB)', () => repeated('0', 500, '['), true, 1, long],
    ['gzip bomb of newlines (300 MB)', () => repeated('\n', 300), true, 0],
    ['gzip bomb of blanks in a line', () => repeated(' ', 500), true, 1, long],
    ['gzip bomb of line ends of Windows (300 MB)', () => repeated('\r\n', 300), true, 0],
    ['32 MB of `[`', () => [Buffer.alloc(32 * megabyte - 1, '[')], false, 1, cutOff],
    ['32 MB of `{"a":`', () => [Buffer.alloc(32 * megabyte - 2, '{"a":')], false, 1, /line 1: .*512/],
    ['32 MB of `0,`', () => repeated('0,', 31, '[', '0]\n'), false, 1, noPage],
    ['32 MB of `"",` in a body', () => repeated('"",', 30, '{"payload":{"a":[', '""]}}\n'), false, 1, many],
    ['32 MB of NUL', () => repeated('\0', 31), false, 1, /line 1: expected/],
    ['a string without an end', () => repeated('\\u0000', 31, '{"payload":"'), false, 1, /line 1: expected/],
    ['a number of 30 MB', () => repeated('9', 30, '{"payload":', '}\n'), false, 1, /line 1: expected a body/],
    ['a line of 33 MB that is a body', () => repeated('x', 33, '{"payload":{"a":"', '"}}\n'), false, 1, long],
    ['1,000 lines of 32 kB of `[`', () => repeated(`${'['.repeat(32 * 1024 - 1)}\n`, 31), false, 1, cutOff],
  ]),
)('%s', async (kind, pieces, isGzip, code, says) => {
  const ended = await measuredCommand([
    'import',
    '--account',
    'shop',
    '--quiet',
    await written(pieces(), isGzip),
    await fileOf(Buffer.from(good)),
  ]);
  await expectHeld(ended, { code, ...(says !== undefined && { says }) });
  figures.held(kind, ended);
});

test.each(
  sharedOut<[string, string]>([
    ['newlines without an end, and SIGINT', '\n'],
    ['a line without an end, and SIGINT', '0'],
    ['broken lines without an end, and SIGINT', '[1\n\n'],
    ['empty pages without an end, and SIGINT', '{"payload":{} }\n'],
  ]),
)('%s', async (kind, text) => {
  const ended = await measuredCommand(['import', '--account', 'shop', '--quiet', '--skip-broken', '-'], {
    input: endless(text),
    interruptMs: 3000,
  });
  await expectHeld(ended, { code: 1, says: /stopped by SIGINT/ });
  figures.held(kind, ended);
});
