import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { clockAt, database, fileHashes, temporaryFolder } from '../lake-run.js';
import { shipment } from '../load/backend-items.js';
import { eventsBody, fileOf, imported, value } from './imported.js';

const clock = clockAt('2025-03-20T00:00:00Z');

function body(order: number): string {
  const item = shipment('2025-03-04T10:00:00Z', `111-0000000-${String(order).padStart(7, '0')}`);
  return eventsBody([item]);
}

async function emptyLake() {
  return { root: await temporaryFolder(), clock };
}

async function events({ root }: { root: string }): Promise<string> {
  return value(await database(root, clock), 'SELECT count(*) FROM events');
}

test.each([
  ['text that is no JSON', '{"payload":', /expected/],
  ['an error body', '{"errors":[{"code":"QuotaExceeded","message":"slow down"}]}', /errors: .*QuotaExceeded/],
  ['a web page', '<html><body>Bad gateway</body></html>', /a web page \(HTML\).*Bad gateway/],
  ['another object', '{"events":[]}', /"payload" object/],
  [
    'a page of transactions',
    '{"payload":{"transactions":[{"transactionId":"T1"}]}}',
    /found transactions: .* 2024-06-19/,
  ],
  ['a page of another operation', '{"payload":{"Orders":[]}}', /FinancialEventGroupList, found Orders/],
  ['a list of events that is none', '{"payload":{"FinancialEvents":[]}}', /FinancialEvents to be an object/],
  [
    'a group of which nothing in its file tells the day',
    '{"payload":{"FinancialEventGroupList":[1]}}',
    /with an opening date in the file/,
  ],
  ['bytes that are no UTF-8', Buffer.of(0x7b, 0xff), /UTF-8/],
])('%s stops its file and names the line, and the others go on', async (_, line, message) => {
  const lake = await emptyLake();
  const text = Buffer.concat([
    Buffer.from(`${body(1)}\n\n`),
    Buffer.isBuffer(line) ? line : Buffer.from(line),
    Buffer.from(`\n${body(2)}\n`),
  ]);
  const broken = await fileOf(text, 'broken.ndjson');
  const ran = await imported(lake, [broken, await fileOf([body(3)])]);
  expect(ran.failure).toMatchObject({ code: 'BROKEN_LINE', exitCode: 1 });
  expect(String(ran.failure)).toContain('left out 1 of 2 files');
  expect(String(ran.failure)).toContain(`${broken}, line 3: `);
  expect(String(ran.failure)).toMatch(message);
  expect(ran.summary.status).toBe('failed');
  expect(await events(lake)).toBe('1');

  const skipping = await imported(lake, [broken], { skipBroken: true });
  expect(skipping.failure).toBeUndefined();
  expect(skipping.logged).toContain(`left out: ${broken}, line 3: `);
  expect(skipping.summary).toMatchObject({ status: 'done', skipped_lines: 1 });
  expect(await events(lake)).toBe('3');
});

test('a group that is none stands as it came on the day of the group beside it', async () => {
  const lake = await emptyLake();
  const group = '{"FinancialEventGroupId":"G1","FinancialEventGroupStart":"2025-03-04T10:00:00Z"}';
  const pages = [`[1,${group}]`, '"text"', '{"FinancialEventGroupId":12}', 'null', '[]'];
  const lines = pages.map((list) => `{"payload":{"FinancialEventGroupList":${list}}}`);
  const { failure } = await imported(lake, [await fileOf(lines)]);
  expect(failure).toBeUndefined();
  const rows = await value(await database(lake.root, clock), 'SELECT list(raw ORDER BY raw) FROM groups');
  expect(JSON.parse(rows)).toEqual(['"text"', '1', group, '{"FinancialEventGroupId":12}']);
});

test('gzip that is cut off or damaged stops its file, whatever its name, also where broken lines are skipped', async () => {
  const lake = await emptyLake();
  const whole = gzipSync(Array.from({ length: 500 }, (_, at) => `${body(at)}\n`).join(''));
  const damaged = Buffer.from(whole);
  damaged.fill(0, whole.length - 40, whole.length - 20);
  const files = [await fileOf(whole.subarray(0, -20), 'cut.ndjson'), await fileOf(damaged, 'odd.ndjson.gz')];
  const ran = await imported(lake, files, { skipBroken: true });
  expect(String(ran.failure)).toMatch(/left out 2 of 2 files .*line \d+: the gzip file is cut off/);
  expect(String(ran.failure)).not.toContain('--skip-broken');
  expect(ran.logged).toMatch(/odd\.ndjson\.gz, line \d+: the gzip file is damaged/);
  expect((await fileHashes(lake.root)).size).toBe(0);
  await imported(lake, [await fileOf(whole, 'whole.txt')]);
  expect(await events(lake)).toBe('500');
});

test('two gzip files strung together are read to the end', async () => {
  const lake = await emptyLake();
  await imported(lake, [await fileOf(Buffer.concat([gzipSync(`${body(1)}\n`), gzipSync(body(2))]))]);
  expect(await events(lake)).toBe('2');
});

test('line ends, marks and blank lines make no difference', async () => {
  const lake = await emptyLake();
  const text = `\ufeff${body(1)}\r\n\r\n  \t\n\ufeff${body(2)}\r\n${body(3)}`;
  const { summary } = await imported(lake, [await fileOf(Buffer.from(text))]);
  expect(summary.pipelines['financial-events']).toMatchObject({
    pages: 3,
    events: 3,
    requests: 0,
    retries: 0,
    throttled: 0,
  });
  const raw = await value(await database(lake.root, clock), 'SELECT min(raw) FROM events');
  expect(raw.startsWith('{"AmazonOrderId":"111-0000000-0000001"')).toBe(true);
});

test('a file without a body, and pages without an event, bring nothing and are no failure', async () => {
  const lake = await emptyLake();
  const empty = [
    '{"payload":{}}',
    '{"payload":{"NextToken":"x"}}',
    eventsBody([]),
    '{"payload":{"FinancialEvents":null}}',
  ];
  const { summary, failure } = await imported(lake, [
    await fileOf([]),
    await fileOf(gzipSync('')),
    await fileOf(empty),
  ]);
  expect(failure).toBeUndefined();
  expect(summary.pipelines['financial-events']).toMatchObject({ pages: 4, slices: 0, events: 0, files: 0 });
  expect((await fileHashes(lake.root)).size).toBe(0);
});

test('a line of 10 MB and an event of 5 MB come in whole', async () => {
  const lake = await emptyLake();
  const large = shipment('2025-03-04T10:00:00Z', '111-0000000-0000009');
  const filled = { ...large, json: large.json.replace('{', `{"Note":"${'x'.repeat(5_000_000)}",`) };
  await imported(lake, [await fileOf([eventsBody([filled, { ...filled, json: filled.json.replace('9"', '8"') }])])]);
  const opened = await database(lake.root, clock);
  expect(await value(opened, 'SELECT list(length(raw) ORDER BY 1) FROM events')).toContain('5000');
  expect(await value(opened, 'SELECT count(DISTINCT raw) FROM events')).toBe('2');
});

test('events of which none has a date can have no day', async () => {
  const lake = await emptyLake();
  const fee = { list: 'ServiceFeeEventList', json: '{"FeeReason":"subscription"}' };
  const ran = await imported(lake, [await fileOf([eventsBody([fee]), eventsBody([fee])])], { skipBroken: true });
  expect(String(ran.failure)).toMatch(/line 2: expected an event with a date in the file/);
  expect(ran.summary.imported['financial-events']).toEqual({ known: 0, left_out: 2, left_out_days: 0 });
  expect((await fileHashes(lake.root)).size).toBe(0);
});

test('standard input is read once, gzip or not', async () => {
  const lake = await emptyLake();
  const bytes = gzipSync(`${body(1)}\n${body(2)}\n`);
  // In pieces of one byte, so that what tells gzip is parted too.
  const stdin = async function* () {
    for (const byte of bytes) yield await Promise.resolve(Buffer.of(byte));
  };
  await imported(lake, ['-'], { stdin });
  expect(await events(lake)).toBe('2');
});

test.each([
  ['a file that is not there', ['/no/such/file.ndjson'], /no\/such\/file/],
  ['a folder', ['.'], /got \. \(it is a folder\)/],
  ['no file', [], /expected FILE/],
  ['standard input twice', ['-', '-'], /only once/],
])('%s is a mistake, and nothing is touched', async (_, files, message) => {
  const lake = await emptyLake();
  const good = await fileOf([body(1)]);
  const given = files.length === 0 ? [] : [good, ...files];
  await expect(imported(lake, given)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(message) as string,
  });
  expect((await fileHashes(lake.root)).size).toBe(0);
});

test("made-up money and somebody's own don't come into one lake", async () => {
  const lake = await emptyLake();
  await imported(lake, [await fileOf([body(1)])]);
  await expect(imported(lake, [await fileOf([body(2)])], { account: 'shop' })).rejects.toMatchObject({ exitCode: 2 });
  expect(await events(lake)).toBe('1');
});

test('the command line takes a dash for standard input', async () => {
  const { importCommand } = await import('../../../src/cli/commands/import-command.js');
  const { CommandArguments, markedWords } = await import('../../../src/cli/options/command-definition.js');
  expect(importCommand.positional?.name).toBe('FILE');
  expect(new CommandArguments({ FILE: markedWords(['a', '-']) }).positionals('FILE')).toEqual(['a', '-']);
});
