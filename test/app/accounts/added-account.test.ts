import { chmod, lstat, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withAccount } from '../../../src/app/accounts/added-account.js';
import { commentedConfiguration, init } from '../../../src/app/accounts/configuration-template.js';
import { parseConfiguration } from '../../../src/app/configuration/configuration.js';
import { temporaryFolder } from '../lake-run.js';

const added = { region: 'eu', clientId: { env: 'ID_NEW' }, refreshToken: { env: 'TOKEN_NEW' } } as const;
const edit = (text: string) => withAccount({ file: 'c.json', bytes: Buffer.from(text) }, 'new', added);

const lines = (indent: string) =>
  [
    '"new": {',
    '  "region": "eu",',
    '  "clientId": { "env": "ID_NEW" },',
    '  "refreshToken": { "env": "TOKEN_NEW" }',
    '}',
  ].join(`\n${indent}`);

test.each([
  [
    'behind the last account, whose comment stays in its line',
    '{\n  "accounts": {\n    "a": { "region": "na" } // mine\n    // "b": {}\n  }\n}\n',
    `{\n  "accounts": {\n    "a": { "region": "na" }, // mine\n    ${lines('    ')}\n    // "b": {}\n  }\n}\n`,
  ],
  ['into an empty object', '{\n  "accounts": {}\n}', `{\n  "accounts": {\n    ${lines('    ')}\n  }\n}`],
  [
    'into a file without accounts',
    '{\n  "settings": {}\n}',
    `{\n  "settings": {},\n  "accounts": {\n    ${lines('    ')}\n  }\n}`,
  ],
  [
    'where the object ends between two comments of the last line',
    '{"accounts":{"a":{},\n"b":{}/* 1 */}/* 2 */\n}',
    '{"accounts":{"a":{},\n"b":{},\n"new": {\n  "region": "eu",\n  "clientId": { "env": "ID_NEW" },\n  "refreshToken": { "env": "TOKEN_NEW" }\n}/* 1 */}/* 2 */\n}',
  ],
  [
    'into one line',
    '{"accounts":{"a":{}}}',
    '{"accounts":{"a":{}, "new": { "region": "eu", "clientId": { "env": "ID_NEW" }, "refreshToken": { "env": "TOKEN_NEW" } }}}',
  ],
])('an account is added %s', (_where, before, after) => {
  expect(edit(before)).toBe(after);
});

test('an account is added to the first configuration of init, with the indentation of a tab and line ends of Windows too', () => {
  const first = commentedConfiguration({ account: 'my-shop', region: 'eu' });
  for (const text of [
    first,
    first.replaceAll('\n', '\r\n'),
    first.replaceAll(/^( {2})+/gm, (blanks) => '\t'.repeat(blanks.length / 2)),
  ]) {
    const edited = edit(text);
    expect([...parseConfiguration(Buffer.from(edited), 'c.json', '/').accounts.keys()]).toEqual(['my-shop', 'new']);
    const all = (pattern: RegExp, of: string) => of.match(pattern)?.length ?? 0;
    expect(all(/(?<!\r)\n/g, edited)).toBe(text.includes('\r') ? 0 : all(/\n/g, edited));
    expect(edited).toContain(`${text.includes('\t') ? '\t\t\t' : '      '}"region": "eu"`);
  }
});

const blank = fc.constantFrom(
  '',
  ' ',
  '  ',
  '\t',
  '\n',
  '\r\n',
  '\n    ',
  '/* a, "b": { */',
  '// "c": {}, }\n',
  ' // ü\r\n',
  '/*\n*/',
);
const blanks = fc.array(blank, { maxLength: 3 }).map((parts) => parts.join(''));
/** JSON whose tokens have anything between them that may be there. */
const spaced = (value: unknown): fc.Arbitrary<string> => {
  const tokens = JSON.stringify(value).match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g) ?? [];
  return fc
    .array(blanks, { minLength: tokens.length + 1, maxLength: tokens.length + 1 })
    .map((between) => tokens.map((token, at) => `${between[at] ?? ''}${token}`).join('') + (between.at(-1) ?? ''));
};
const accounts = fc.dictionary(
  fc.stringMatching(/^[a-m][a-z.-]{0,5}$/),
  fc.record({ region: fc.constantFrom('na', 'fe'), refreshToken: fc.string({ minLength: 1 }) }, { requiredKeys: [] }),
  { maxKeys: 3 },
);
const configurations = fc
  .record({ settings: fc.constantFrom({}, { lake: 'l//a/*ke' }), accounts }, { requiredKeys: [] })
  .filter(({ accounts = {} }) => !Object.hasOwn(accounts, 'new'))
  .chain((value) => fc.tuple(fc.constant(value), spaced(value)));

const offsets = (text: string) => Array.from({ length: text.length + 1 }, (_, at) => at);

test('in any form, the result is what was intended, and what was there is there, byte for byte', () => {
  fc.assert(
    fc.property(configurations, ([value, text]) => {
      const edited = edit(text);
      const plain = edited.replaceAll(
        /("(?:[^"\\]|\\.)*")|\/\*[^]*?\*\/|\/\/[^\r\n]*/g,
        (_, string?: string) => string ?? ' ',
      );
      expect(JSON.parse(plain)).toEqual({ ...value, accounts: { ...value.accounts, new: added } });
      // At most a comma and the account were inserted: [start],[middle][account][end].
      const isKept = (comma: string) =>
        offsets(text).some((at) => {
          const [start, rest] = [text.slice(0, at) + comma, text.slice(at)];
          return (
            edited.startsWith(start) &&
            offsets(rest).some(
              (to) => edited.startsWith(rest.slice(0, to), start.length) && edited.endsWith(rest.slice(to)),
            )
          );
        });
      expect(isKept(',') || isKept('')).toBe(true);
    }),
  );
});

describe('init', () => {
  const run = async (file: string, account: string) => {
    const printed: string[] = [];
    const print = (text: string) => printed.push(text);
    await init({ file, account, region: 'na' }, { print, emit: () => undefined });
    return printed.join('\n');
  };

  test('refuses the name of the synthetic seller, and writes nothing', async () => {
    const file = join(await temporaryFolder(), 'c.json');
    await expect(run(file, 'demo')).rejects.toMatchObject({
      code: 'USAGE',
      exitCode: 2,
      message: 'expected a name of your own for --account, got demo, the synthetic seller; choose another name',
    });
    await expect(lstat(file)).rejects.toThrow('ENOENT');
  });

  test('adds a second account through a link, and keeps the permissions', async () => {
    const folder = await temporaryFolder();
    const [file, link] = [join(folder, 'c.json'), join(folder, 'link.json')];
    await writeFile(file, '{"accounts":{"one":{"region":"eu"}}}');
    await chmod(file, 0o660);
    await symlink(file, link);
    const printed = await run(link, 'two');
    expect(printed).toMatch(/^Added two to .*link\.json\. Next:\n\n {2}1\. set LEDGERLAKE_CLIENT_ID_TWO,/);
    expect(printed).toContain(`accounts check --account two --config ${link}`);
    expect(printed).toContain('\n\nIt shares the lake data/lake, in folders of its own: account=two.\n');
    expect(printed).toMatch(
      /Variables without a suffix no longer apply: .* set LEDGERLAKE_REFRESH_TOKEN_ONE instead\.$/,
    );
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o660);
    const { accounts } = parseConfiguration(await readFile(file), 'c.json', folder);
    expect([...accounts.keys()]).toEqual(['one', 'two']);
    expect(accounts.get('two')).toEqual({
      region: 'na',
      clientId: { env: 'LEDGERLAKE_CLIENT_ID_TWO' },
      clientSecret: { env: 'LEDGERLAKE_CLIENT_SECRET_TWO' },
      refreshToken: { env: 'LEDGERLAKE_REFRESH_TOKEN_TWO' },
    });
  });

  test.each([
    ['{"accounts":{"one":{}}}', 'one', /which it has; `ledgerlake accounts` lists what is set, edit it there/],
    ['{"accounts":{"o.ne":{}}}', 'o-ne', /shares them with o\.ne/],
    ['{"accounts":[]}', 'one', /c\.json: accounts: expected/],
    ['{"accounts":{},}', 'one', /c\.json: /],
    ['', 'one', /c\.json: /],
  ])('%s is not changed for the account %s', async (text, account, message) => {
    const file = join(await temporaryFolder(), 'c.json');
    await writeFile(file, text);
    await expect(run(file, account)).rejects.toThrow(message);
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});
