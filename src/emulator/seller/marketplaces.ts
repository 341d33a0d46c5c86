import type { NonEmpty } from './seeded-random.js';
import { type Spellings, stores } from './catalogue.js';

/** A marketplace, and with it a currency: the seller has one of each. */
export interface Marketplace {
  /** Place in `marketplaces`. */
  readonly index: number;
  readonly currency: string;
  /** Millionths in the currency's smallest unit: 10 000 for a cent. */
  readonly unit: number;
  /** Digits behind the point that the currency has: 0 or 2. */
  readonly scale: number;
  /** What costs a dollar's cent costs this many of the smallest unit. */
  readonly level: number;
  /** US dollars for a million of the currency, for converted periodSums. */
  readonly dollars: bigint;
  readonly name: string;
  readonly id: string;
  readonly country: string;
  readonly stores: NonEmpty<Spellings>;
}

const cent = { unit: 10_000, scale: 2 };

const dollar: Marketplace = {
  index: 0,
  currency: 'USD',
  ...cent,
  level: 1,
  dollars: 1_000_000n,
  name: 'Amazon.com',
  id: 'ATVPDKIKX0DER',
  country: 'US',
  stores: stores.USD,
};
const canadian: Marketplace = {
  index: 1,
  currency: 'CAD',
  ...cent,
  level: 1,
  dollars: 731_250n,
  name: 'Amazon.ca',
  id: 'A2EUQ1WTGCTBG2',
  country: 'CA',
  stores: stores.CAD,
};
const peso: Marketplace = {
  index: 2,
  currency: 'MXN',
  ...cent,
  level: 17,
  dollars: 54_321n,
  name: 'Amazon.com.mx',
  id: 'A1AM78C64UM0Y8',
  country: 'MX',
  stores: stores.MXN,
};
const yen: Marketplace = {
  index: 3,
  currency: 'JPY',
  unit: 1_000_000,
  scale: 0,
  level: 1,
  dollars: 6_789n,
  name: 'Amazon.co.jp',
  id: 'A1VC38T7YXB528',
  country: 'JP',
  stores: stores.JPY,
};

export const marketplaces = [dollar, canadian, peso, yen] as const;

/** The marketplace for 32 random bits: of 32 orders 18 are in dollars. */
export function marketplaceFor(bits: number): Marketplace {
  const part = bits >>> 27;
  return part < 18 ? dollar : part < 24 ? canadian : part < 28 ? peso : yen;
}
