import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtCommand } from '../../app/built-command.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { exampleServer } from './example-server.js';

const environmentOf = (url: string) => ({ SMALL_SHOP_URL: url, SMALL_SHOP_TOKEN: 'token-of-mine' });
const pages = [
  { records: [{ id: 'a', created_at: '2025-01-02T00:00:00Z', amount: { value: 12.1, currency: 'EUR' } }], next: 'b' },
  { records: [{ id: 'b', created_at: 'soon', amount: { value: '0.30', currency: 'EUR' } }] },
];
const backfill = 'backfill small-shop --pipelines mine --account my-shop --from 2025-01-01 --to 2025-01-05'.split(' ');

test('init writes a definition that loads, a dry run shows its first page and leaves nothing, a backfill loads it', async () => {
  const folder = await temporaryFolder();
  const written = await builtCommand(['init', 'pipeline', 'small-shop', '--pipelines', 'mine'], { folder });
  expect([written.code, written.err]).toEqual([0, '']);
  expect(written.out).toContain('set SMALL_SHOP_URL and SMALL_SHOP_TOKEN');
  expect(written.out).toMatch(
    /--pipelines mine --account my-shop\n\nNo account is configured: my-shop stands for any name/,
  );
  const file = join(folder, 'mine/small-shop.mjs');
  const text = await readFile(file, 'utf8');
  const again = await builtCommand(['init', 'pipeline', 'small-shop', '--pipelines', 'mine'], { folder });
  expect([again.code, again.err]).toEqual([
    2,
    expect.stringContaining('got an existing one, which is not overwritten'),
  ]);
  expect(await readFile(file, 'utf8')).toBe(text);

  const { url, asked } = await exampleServer(({ headers, query }) => {
    if (headers.authorization !== 'Bearer token-of-mine') return { status: 401 };
    return { body: query.get('cursor') === null ? pages[0] : pages[1] };
  });
  const run = { folder, environment: environmentOf(url) };
  const dry = await builtCommand([...backfill, '--dry-run'], run);
  expect([dry.code, dry.err]).toEqual([0, '']);
  expect(dry.out).toContain('small-shop: the first page of 2025-01-01T00:00:00.000Z to');
  expect(dry.out).toContain(' has 1 record, and others follow\n');
  expect(dry.out).toMatch(/a +.*2025-01-02.* 12\.10? .*EUR/);
  expect(asked).toHaveLength(1);
  const told = await builtCommand([...backfill, '--dry-run', '--json'], run);
  const { first_pages: shown } = JSON.parse(told.out) as { first_pages: unknown };
  expect(shown).toMatchObject([
    { pipeline: 'small-shop', records: 1, unfit: {}, tables: { small_shop: [{ id: 'a', currency: 'EUR' }] } },
  ]);
  expect(await readdir(folder)).toEqual(['mine']);

  const loaded = await builtCommand([...backfill, '--json'], run);
  expect([loaded.code, JSON.parse(loaded.out)]).toMatchObject([0, { pipelines: { 'small-shop': { pages: 2 } } }]);
});

test('a plan of a custom pipeline names the dry run that shows its first page, and not a probe, which asks nothing of it', async () => {
  const folder = await temporaryFolder();
  await builtCommand(['init', 'pipeline', 'small-shop', '--pipelines', 'mine'], { folder });
  const { url, asked } = await exampleServer(() => ({ body: pages[1] }));
  const run = { folder, environment: environmentOf(url) };
  const [, ...job] = backfill;
  const plan = await builtCommand(['plan', ...job], run);
  const probe = await builtCommand(['plan', '--probe', ...job], run);
  expect(asked).toHaveLength(0);
  for (const { code, err, out } of [plan, probe]) {
    expect([code, err]).toEqual([0, '']);
    expect(out).not.toMatch(/was sufficient|plan --probe/);
    expect(out).toContain('A custom pipeline cannot be probed; this shows the first page of small-shop:\n');
  }
  expect(probe.out).toContain('No request was sent.\n');
  const command = / {2}(?:npx )?ledgerlake (.+)\n$/.exec(plan.out)?.[1] ?? '';
  expect(command).toMatch(/^backfill --dry-run small-shop --lake data\/lake --account my-shop --pipelines mine --from/);
  const dry = await builtCommand(command.split(' '), run);
  expect([dry.code, dry.err]).toEqual([0, '']);
  expect(dry.out).toContain('small-shop: the first page of 2025-01-01');
  expect(dry.out).not.toMatch(/cannot be probed|plan --probe/);
  expect(asked).toHaveLength(1);
});

test('a dry run fails at once where the definition looks for a list that the page lacks, and shows a few rows of many', async () => {
  const folder = await temporaryFolder();
  await builtCommand(['init', 'pipeline', 'small-shop', '--pipelines', 'mine'], { folder });
  const records = Array.from({ length: 40 }, (_, at) => ({ id: `r${at}`, created_at: '2025-01-02T00:00:00Z' }));
  const { url, asked } = await exampleServer(() => ({ body: { records } }));
  const run = { folder, environment: environmentOf(url) };
  const many = await builtCommand([...backfill, '--dry-run'], run);
  expect([many.code, many.out]).toEqual([
    0,
    expect.stringMatching(/ has 40 records, and is the only one\n[^]*\nand 30 more rows, which --json has\n/),
  ]);
  expect(many.out).not.toContain('r20');

  const file = join(folder, 'mine/small-shop.mjs');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace("list('records')", "list('items')"));
  const dry = await builtCommand([...backfill, '--dry-run'], run);
  expect([dry.code, dry.err]).toEqual([
    1,
    expect.stringMatching(/DEFINITION: .*records: expected an array at items, found nothing beside records; correct/),
  ]);
  expect(asked).toHaveLength(2);
});

test('a load that stored nothing binds no later definition to its columns', async () => {
  const folder = await temporaryFolder();
  await builtCommand(['init', 'pipeline', 'small-shop', '--pipelines', 'mine'], { folder });
  const good = await exampleServer(() => ({ body: pages[1] }));
  const denying = await exampleServer(() => ({ status: 401 }));
  const denied = await builtCommand(backfill, { folder, environment: environmentOf(denying.url) });
  expect([denied.code, await readdir(join(folder, 'data/lake/_catalog')).catch(() => [])]).toEqual([1, []]);
  const file = join(folder, 'mine/small-shop.mjs');
  const text = await readFile(file, 'utf8');
  expect(text).toContain('decimal(18,2)');
  await writeFile(file, text.replace('decimal(18,2)', 'decimal(18,4)'));
  const run = { folder, environment: environmentOf(good.url) };
  expect(await builtCommand([...backfill, '--quiet'], run)).toMatchObject({ code: 0, err: '' });
  await writeFile(file, text);
  const refused = await builtCommand(backfill, run);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining('expected the column amount as DECIMAL(18,4)'),
  ]);
});

test('init names an account that is configured', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'ledgerlake.config.json'), '{"accounts":{"acme":{"region":"eu"}}}');
  const { out } = await builtCommand(['init', 'pipeline', 'small-shop'], { folder });
  expect(out).toMatch(/--pipelines pipelines --account acme\n$/);
  const environment = { LEDGERLAKE_ACCOUNT: 'demo' };
  const other = await builtCommand(['init', 'pipeline', 'other-shop'], { folder, environment });
  expect(other.out).toMatch(/--pipelines pipelines --account acme\n$/);
});

test('the folder of the program’s own pipelines is none of the user’s', async () => {
  const folder = await temporaryFolder();
  await cp('pipelines', join(folder, 'pipelines'), { recursive: true });
  const before = await readdir(join(folder, 'pipelines'));
  for (const words of ['init pipeline shipments', 'backfill shipments --pipelines pipelines --account my-shop']) {
    expect(await builtCommand(words.split(' '), { folder })).toMatchObject({
      code: 2,
      err:
        "ledgerlake: USAGE: expected a folder of your own for --pipelines, got pipelines, which contains the program's pipelines; " +
        'name another, such as --pipelines my-pipelines\n',
    });
  }
  expect(await readdir(join(folder, 'pipelines'))).toEqual(before);
  const own = ['init', 'pipeline', 'shipments', '--pipelines', 'my-pipelines'];
  expect(await builtCommand(own, { folder })).toMatchObject({ code: 0 });
});

test.each([
  ['a name that is none', ['init', 'pipeline', 'Small Shop'], /expected a name of small letters, digits and -/],
  ['no name', ['init', 'pipeline'], /expected nothing or pipeline NAME after init, got "pipeline"/],
  ['another word', ['init', 'shop'], /expected nothing or pipeline NAME after init, got "shop"/],
])('%s is refused, and nothing is written', async (_what, words, expected) => {
  const folder = await temporaryFolder();
  const { code, err } = await builtCommand(words, { folder });
  expect([code, err]).toEqual([2, expect.stringMatching(expected)]);
  expect(await readdir(folder)).toEqual([]);
});
