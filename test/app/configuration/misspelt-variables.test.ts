import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parseConfiguration } from '../../../src/app/configuration/configuration.js';
import { misspeltVariables } from '../../../src/app/configuration/misspelt-variables.js';

const configuration = (text = '{}') => parseConfiguration(Buffer.from(text), 'c.json', '/');
const environment = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'x']));

test('a variable that resembles one of the program is misspelt', () => {
  const misspelt = environment(
    'LEDGERLAKE_LAKES',
    'LEDGERLAKE_ACOUNT',
    'LEDGERLAKE_CLIENTSECRET',
    'LEDGERLAKE_REGON_SHOP',
    'LEDGERLAKE_KMSKEY',
  );
  expect(misspeltVariables({ ...misspelt, LEDGERLAKE_ACCOUNT: 'shop' }, configuration())).toEqual([
    { variable: 'LEDGERLAKE_LAKES', nearest: 'LEDGERLAKE_LAKE' },
    { variable: 'LEDGERLAKE_ACOUNT', nearest: 'LEDGERLAKE_ACCOUNT' },
    { variable: 'LEDGERLAKE_CLIENTSECRET', nearest: 'LEDGERLAKE_CLIENT_SECRET' },
    { variable: 'LEDGERLAKE_REGON_SHOP', nearest: 'LEDGERLAKE_REGION_SHOP' },
    { variable: 'LEDGERLAKE_KMSKEY', nearest: 'LEDGERLAKE_KMS_KEY' },
  ]);
});

test('a variable of an account, one that the configuration names, and another program’s are not', () => {
  const named = configuration(
    '{"accounts":{"shop":{"region":"eu","clientSecret":{"env":"LEDGERLAKE_CLIENT_SECRET1"},"secrets":{"LEDGERLAKE_TOKENS":"x"}}}}',
  );
  const others = [
    'LEDGERLAKE_REGION_MY_SHOP',
    'LEDGERLAKE_CLIENT_SECRET1',
    'LEDGERLAKE_TOKENS_SHOP',
    'LAKE',
    'LEDGERLAKE_IMAGE_TAG',
  ];
  expect(misspeltVariables(environment(...others), named)).toEqual([]);
});

test('no documented variable is misspelt', async () => {
  const pages = await Promise.all(
    ['configuration', 'serve', 'credentials'].map((page) => readFile(`docs/${page}.md`, 'utf8')),
  );
  const names = pages.flatMap((page) => page.match(/LEDGERLAKE_[A-Z][A-Z_]*[A-Z]/g) ?? []);
  expect(names.length).toBeGreaterThan(20);
  expect(misspeltVariables(environment(...names), configuration())).toEqual([]);
});
