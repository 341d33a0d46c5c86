const northAmerica = 'https://sellingpartnerapi-na.amazon.com';
const europe = 'https://sellingpartnerapi-eu.amazon.com';
const farEast = 'https://sellingpartnerapi-fe.amazon.com';

/** The public service's base addresses by region; the sandboxes answer with fixed examples. */
export const regions = {
  na: northAmerica,
  eu: europe,
  fe: farEast,
  'sandbox-na': northAmerica.replace('//', '//sandbox.'),
  'sandbox-eu': europe.replace('//', '//sandbox.'),
  'sandbox-fe': farEast.replace('//', '//sandbox.'),
} as const;

export type Region = keyof typeof regions;

export const regionNames = Object.keys(regions) as Region[];

/** Hosts of the service and of its sign-in: to these a secret of the user's goes, whoever names them. */
export const knownHosts: ReadonlySet<string> = new Set([
  ...Object.values(regions).map((address) => new URL(address).host),
  'api.amazon.com',
  'api.amazon.co.uk',
  'api.amazon.co.jp',
]);

/** Where refresh tokens of all regions, sandboxes too, are turned into access tokens, unless an account says otherwise. */
export const defaultTokenEndpoint = 'https://api.amazon.com/auth/o2/token';
