import { usageError } from '../../core/errors.js';
import { nearestName, unknownName } from '../../core/text/fault-line.js';

/** The account of the embedded service's synthetic seller. */
export const demoAccount = 'demo';

/**
 * Valid names of accounts, which are names of folders in the lake. DuckDB reads the folder `account=null`, in any case, as one without an
 * account.
 */
export const accountPattern = /^(?![Nn][Uu][Ll][Ll]$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The pattern in words. */
export const accountForm = '1 to 64 letters, digits, dots, dashes or underscores, and not null';

/** What such a name is, as a message says. */
export const nameOfAccount = `a name of ${accountForm}`;

/**
 * The account of the options, by default the synthetic seller's.
 *
 * @throws LedgerlakeError USAGE for an invalid name, for an endpoint without an account, and for an account without an endpoint, whose
 * events the embedded service would make up
 */
export function readAccount(account: string | undefined, endpoint: string | undefined): string {
  if (account !== undefined) readAccountName(account);
  if (endpoint === undefined && account !== undefined && account !== demoAccount) {
    throw usageError(
      `expected --endpoint with --account ${account}, got none; without it the embedded service answers, which serves ` +
        `only the synthetic account ${demoAccount}`,
    );
  }
  if (endpoint !== undefined && account === undefined) {
    throw usageError('expected --account with --endpoint, got none; choose any name for the account');
  }
  return account ?? demoAccount;
}

/**
 * The account of a run of custom pipelines alone: any name except the synthetic seller's.
 *
 * @throws LedgerlakeError USAGE where no account is named, the synthetic seller is, or the name is invalid
 */
export function readCustomAccount(account: string | undefined): string {
  if (account !== undefined && account !== demoAccount) return readAccountName(account);
  const got = account === undefined ? 'none' : `${demoAccount}, the synthetic seller`;
  throw usageError(
    `expected --account with custom pipelines, got ${got}; choose any name except ${demoAccount} for the account`,
  );
}

/** @throws LedgerlakeError USAGE for a name that can't be a folder's */
export function readAccountName(account: string): string {
  if (accountPattern.test(account)) return account;
  throw usageError(`expected --account to be ${accountForm}, got ${JSON.stringify(account)}; choose another name`);
}

/** @throws LedgerlakeError USAGE where the account is `demo` and the lake has others, or the reverse */
export function refuseMixing(account: string, lakeAccounts: ReadonlySet<string>, lake: string): void {
  const other = [...lakeAccounts].find((name) => (name === demoAccount) !== (account === demoAccount));
  if (other === undefined) return;
  const real = [...lakeAccounts].filter((name) => name !== demoAccount).toSorted();
  const hint =
    account === demoAccount ? `did you mean --account ${real.slice(0, 5).join(' or ')}? Or choose` : 'choose';
  throw usageError(
    `expected a lake without the account ${other} for the account ${account}, got ${lake}, which has it: synthetic events of ` +
      `${demoAccount} are never stored beside real ones; ${hint} another --lake`,
  );
}

/** @throws LedgerlakeError USAGE for an account that the lake lacks, while it has others */
export function refuseUnknownAccount(
  account: string | undefined,
  lakeAccounts: ReadonlySet<string>,
  lake: string,
): void {
  if (account === undefined || lakeAccounts.size === 0 || lakeAccounts.has(account)) return;
  throw unknownName(`--account to be an account of ${lake}`, account, [...lakeAccounts].toSorted());
}

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

/** Words that users write instead of a region: its marketplaces and data centres. */
const marketplaces: Readonly<Partial<Record<Region, readonly string[]>>> = {
  na: ['us', 'usa', 'ca', 'mx', 'br', 'us-east-1', 'america', 'north-america'],
  eu: [
    ...['uk', 'gb', 'de', 'fr', 'it', 'es', 'nl', 'be', 'ie', 'pl', 'se', 'tr', 'ae', 'sa', 'eg', 'za', 'in'],
    ...['eu-west-1', 'europe'],
  ],
  fe: ['jp', 'au', 'sg', 'us-west-2', 'asia', 'far-east'],
};

/** The region that a word such as `us`, `UK` or `EU` probably means; undefined: unknown. */
export function nearestRegion(given: string): Region | undefined {
  const word = given.trim().toLowerCase().replaceAll(/[ _]/g, '-');
  const nearest = nearestName(word, regionNames);
  return regionNames.find((region) => marketplaces[region]?.includes(word) === true || region === nearest);
}

/** Hosts of the service and of its sign-in, which may receive secrets whichever file has their address. */
export const knownHosts: ReadonlySet<string> = new Set([
  ...Object.values(regions).map((address) => new URL(address).host),
  'api.amazon.com',
  'api.amazon.co.uk',
  'api.amazon.co.jp',
]);

/** The default token endpoint of all regions and sandboxes. */
export const defaultTokenEndpoint = 'https://api.amazon.com/auth/o2/token';
