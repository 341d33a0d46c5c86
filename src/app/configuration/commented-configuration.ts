import { accountVariables, variableSuffix } from './account-settings.js';
import { defaultTokenEndpoint, regionNames, type Region } from './regions.js';

/** Who a first configuration is for. */
export interface FirstAccount {
  readonly account: string;
  readonly region: Region;
}

/** The variables that a first configuration takes the secrets of an account from. */
export function secretVariables(account: string): readonly string[] {
  const { clientId, clientSecret, refreshToken } = accountVariables;
  return [clientId, clientSecret, refreshToken].map((name) => `${name}${variableSuffix(account)}`);
}

/**
 * A first `ledgerlake.config.json`, every setting explained. It is taken as it stands; what is commented out stands at its
 * default, with its comma, before a line that stays: each such line, and all of them, can be switched on.
 */
export function commentedConfiguration({ account, region }: FirstAccount): string {
  const [clientId = '', clientSecret = '', refreshToken = ''] = secretVariables(account);
  return `{
  // The command line and the environment (LEDGERLAKE_LAKE, LEDGERLAKE_RATE …) go before this file.
  "$schema": "./node_modules/ledgerlake/ledgerlake.schema.json",

  "settings": {
    // Whose events, where several accounts stand below.
    // "account": ${JSON.stringify(account)},
    // First instant to load; left out: 90 days before the end. Upstream keeps two years.
    // "from": "2025-01-01",
    // The first guess of the quota, for each operation: requests a second, and at once. The service's own word goes before it.
    // "rate": 0.5,
    // "burst": 30,
    // How many minutes loaded ranges stay behind the present, 2 at least.
    // "marginMinutes": 5,
    // How many minutes the service's NextToken is taken to live.
    // "tokenLifeMinutes": 3,
    // Folder for pages of unfinished slices; left out: _journal in the lake's folder, for S3 in your cache.
    // "journal": "data/journal",
    // Folder with definitions of custom pipelines (docs/pipelines.md).
    // "pipelines": "pipelines",
    // Format of the log: text, or json, a line for each event (docs/logs.md).
    // "logFormat": "text",
    // Metrics for Prometheus, while a run goes on and at its end (docs/metrics.md); left out: none.
    // "metricsPort": 9464,
    // "metricsHost": "127.0.0.1",
    // "metricsFile": "data/ledgerlake.prom",
    // What sync reads again for what arrived late: the last days, and how many days go by in between (0: on each run).
    // "lookBack": [{ "days": 2, "everyDays": 0 }, { "days": 14, "everyDays": 7 }, { "days": 35, "everyDays": 30 }],
    // Where the Delta tables are: a folder, seen from this file, or s3://BUCKET/PREFIX. Not that of the made-up seller (data/lake).
    "lake": ${JSON.stringify(`data/${account}`)}
  },

  "accounts": {
    // A name of yours: it is the folder account=… in the lake, and what --account takes.
    ${JSON.stringify(account)}: {
      // The service's base address, instead of the region's.
      // "endpoint": "https://host",
      // Where the refresh token is turned into access tokens.
      // "tokenEndpoint": ${JSON.stringify(defaultTokenEndpoint)},
      // Which public endpoint serves it: ${regionNames.join(', ')}.
      "region": ${JSON.stringify(region)},
      // Secrets: { "env": "VARIABLE" } or { "file": "PATH" }, seen from this file. A plain text works, too: keep such a file to yourself.
      "clientId": { "env": ${JSON.stringify(clientId)} },
      "clientSecret": { "env": ${JSON.stringify(clientSecret)} },
      "refreshToken": { "env": ${JSON.stringify(refreshToken)} }
    }
  }
}
`;
}
