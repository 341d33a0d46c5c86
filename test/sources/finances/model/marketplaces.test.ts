import { expect, test } from 'vitest';
import {
  marketplaceNamed,
  marketplaceOfCountry,
  marketplaces,
} from '../../../../src/sources/finances/model/marketplaces.js';

test.each([
  ['Amazon.com', 'ATVPDKIKX0DER'],
  ['amazon.com', 'ATVPDKIKX0DER'],
  ['www.amazon.de', 'A1PA6795UKMFR9'],
  ['Amazon.co.jp', 'A1VC38T7YXB528'],
  ['Amazon.jp', 'A1VC38T7YXB528'],
  ['Amazon.uk', 'A1F83G8C2ARO7P'],
  ['Amazon.com.be', 'AMEN7PMS3EDWL'],
  ['Amazon.be', 'AMEN7PMS3EDWL'],
  [' AMAZON.CO.UK ', 'A1F83G8C2ARO7P'],
  ['A2VIGQ35RCS4UG', 'A2VIGQ35RCS4UG'],
  ['Non-Amazon', undefined],
  ['Amazon', undefined],
  ['Amazon.zz', undefined],
  ['notamazon.com', undefined],
  ['Amazon.com Inc', undefined],
  ['', undefined],
])('the marketplace named %j is %s', (name, id) => {
  expect(marketplaceNamed(name)).toBe(id);
});

test('each marketplace is found by its name and by its country', () => {
  for (const { id, name, country } of marketplaces) {
    expect([
      marketplaceNamed(name),
      marketplaceOfCountry(country),
      marketplaceOfCountry(country.toLowerCase()),
    ]).toEqual([id, id, id]);
  }
  expect(marketplaceOfCountry('UK')).toBe(marketplaceOfCountry('GB'));
  expect(marketplaceOfCountry('XX')).toBeUndefined();
});
