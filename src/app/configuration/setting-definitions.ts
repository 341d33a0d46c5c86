import { usageError } from '../../core/errors.js';
import { mostRetentionHours } from '../../core/windows.js';
import { Secret } from '../../engine/auth/secret.js';
import { isSecure } from '../../engine/http/address.js';
import { remoteForm, remoteNames } from '../../lake/store/open-store.js';
import { sseAlgorithms } from '../../lake/store/store.js';
import { logFormats } from '../../observe/log/plain-log.js';
import { eventLimits } from '../../sources/finances/api-v0/operations.js';
import { apiNames, apis, burstsText, defaultApi, type Api } from '../../sources/finances/api-names.js';
import { exportFormats, type ExportFormat } from '../export/export-formats.js';
import { nameOfAccount, accountPattern } from './account.js';
import {
  anyText,
  instantText,
  numberForm,
  oneOf,
  optionOf,
  someOf,
  timeZoneName,
  trueOrFalse,
  type ValueForm,
} from '../../core/text/value-forms.js';

/** The length of a look-back in `days`, and how often a sync does it: after `everyDays`; 0: with each run. */
export interface LookBackRule {
  readonly days: number;
  readonly everyDays: number;
}

/** What a sync reads again: by rules, or so many days. */
export type LookBack = readonly LookBackRule[] | number;

/**
 * A setting. Its name is its key in the configuration (`metricsPort`), from which those of its variable (`LEDGERLAKE_METRICS_PORT`)
 * and its option (`--metrics-port`) follow. The JSON Schema, the first configuration of `ledgerlake init`, the help of the option, what
 * it completes to, and the row in docs/configuration.md are made of its definition.
 */
export interface SettingDefinition extends Pick<ValueForm<unknown>, 'schema' | 'words'> {
  /** Parses the text of its option or variable; left out: only the configuration has it. */
  readonly read?: ValueForm<unknown>['read'];
  /** What it is, for the JSON Schema and the help. */
  readonly about?: string;
  /** Its value where nothing sets it. */
  readonly default?: string | number | readonly unknown[];
  /** Whether it is a path, which in the configuration is relative to that file's folder. */
  readonly isPath?: true;
  /** Whether the commands of loads have its option; those of others name it. */
  readonly isOfLoads?: true;
  /** What its option is, for the help; left out: `about`. */
  readonly optionAbout?: string;
  /** What it is, for docs/configuration.md; left out: `about`. */
  readonly details?: string;
  /** For docs/configuration.md and the help of its option, what goes where nothing sets it; left out: the default. */
  readonly defaultText?: string;
  /** Its comment in a first configuration; left out: that of the setting before it. */
  readonly comment?: string;
  /** Its value in a first configuration; left out: the default. */
  readonly example?: unknown;
}

export type SettingDefinitions = Readonly<Record<string, SettingDefinition>>;

const folder = anyText('a folder');

const days = 'a whole number of days from 1';
const everyDays = 'a number of days from 0';

const cacheGigabytes = 10;
const metricsHost = '127.0.0.1';

/** The settings of views, and of what reads them. */
export const querySettings = {
  timeZone: {
    ...timeZoneName,
    about: 'Time zone in which months begin and end in views, report and journals',
    details:
      'Time zone in which months begin and end in views, report and journals, an IANA name ([queries.md](queries.md#months))',
    default: 'UTC',
    comment:
      'The time zone in which months begin and end in views, report and journals: an IANA name (docs/queries.md).',
    example: 'Europe/Berlin',
  },
  chart: {
    ...anyText('a file'),
    about: 'Chart of accounts of journals: a CSV file; the default one has accounts for all that is known',
    optionAbout: 'Chart of accounts: a CSV file (docs/journals.md)',
    details:
      'Chart of accounts of journals: a CSV file ([journals.md](journals.md#the-chart-of-accounts)); the default one has accounts for ' +
      'all that is known',
    isPath: true,
    comment: 'The chart of accounts of journals, a CSV file (docs/journals.md).',
    example: 'chart.csv',
  },
  costs: {
    ...anyText('a file'),
    about: 'What units of SKUs cost, for the view `sku_profit`: a CSV file',
    optionAbout: 'Unit costs: a CSV file (docs/queries.md)',
    details: 'What units of SKUs cost: a CSV file ([queries.md](queries.md#profit-with-unit-costs))',
    isPath: true,
    comment: 'What units of SKUs cost, for the view sku_profit: a CSV file (docs/queries.md).',
    example: 'costs.csv',
  },
} as const satisfies SettingDefinitions;

/** The settings of a run. */
export const runSettings = {
  lake: {
    ...anyText(`a folder or "${remoteForm}"`),
    about: `The lake: a folder, or ${remoteForm}`,
    isPath: true,
    default: 'data/lake',
    comment: `The lake: a folder, relative to this file, or ${remoteForm}. Not the lake of the synthetic seller (data/lake).`,
  },
  from: {
    ...instantText,
    about: 'First instant to load, ISO 8601 in UTC',
    defaultText: '90 days before the end',
    comment: 'Where backfill and sync begin; default: 90 days before the end. The service keeps two years.',
    example: '2025-01-01',
  },
  rate: {
    ...numberForm({ expected: 'a number greater than 0' }),
    isOfLoads: true,
    about: 'Requests per second for each operation, until the service announces its rate',
    default: eventLimits.rate,
    comment:
      'The initial quota of each operation: requests per second, and at once. The rate that the service announces overrides it.',
  },
  // Left out, each API has its own.
  burst: {
    ...numberForm({ isWhole: true, least: 1, expected: 'a whole number from 1' }),
    isOfLoads: true,
    about: 'Requests that each operation may send at once',
    defaultText: burstsText,
    example: eventLimits.burst,
  },
  // The service refuses bounds that are nearer to the present (specification, section 8).
  marginMinutes: {
    ...numberForm({
      least: eventLimits.marginMs / 60_000,
      most: 1440,
      expected: 'a number of minutes from 2 to 1440',
      hint: '; correct it',
    }),
    about: 'How many minutes before the present ranges end',
    details: 'How many minutes before the present ranges end, 2 to 1440',
    default: 5,
    comment: 'How many minutes before the present ranges end, at least 2.',
  },
  // The default is the shortest known lifetime of the service's tokens.
  tokenLifeMinutes: {
    ...numberForm({ expected: 'a number of minutes greater than 0' }),
    about: "Assumed lifetime of the service's NextToken, in minutes",
    default: 3,
    comment: "The assumed lifetime of the service's NextToken, in minutes.",
  },
  journal: {
    ...folder,
    isOfLoads: true,
    about: 'Folder for pages of unfinished slices',
    defaultText: `LAKE/_journal; for ${remoteNames} your cache folder`,
    isPath: true,
    comment: `Folder for pages of unfinished slices; default: _journal in the lake's folder, for ${remoteNames} in your cache.`,
    example: 'data/journal',
  },
  cache: {
    ...folder,
    about: `Folder for copies of the files of lakes on ${remoteNames}; in your cache folder by default`,
    details: `Folder for copies of the files of lakes on ${remoteNames} ([s3.md](s3.md#reading-it))`,
    optionAbout: `Folder for copies of the files of a lake on ${remoteNames}`,
    defaultText: 'in your cache folder',
    isPath: true,
    comment: `Folder for copies of the files of lakes on ${remoteNames}, and what they may have together; default: your cache, ${cacheGigabytes} GB.`,
    example: '/var/cache/ledgerlake',
  },
  cacheGigabytes: {
    ...numberForm({ expected: 'a number of gigabytes greater than 0' }),
    about: `Gigabytes of all copies in the cache folder; ${cacheGigabytes} by default`,
    details: 'Gigabytes of all copies in the cache folder',
    default: cacheGigabytes,
    example: 50,
  },
  pipelines: {
    ...folder,
    isOfLoads: true,
    about: 'Folder with definitions of custom pipelines',
    isPath: true,
    details: 'Folder with definitions of [custom pipelines](pipelines.md)',
    comment: 'Folder with definitions of custom pipelines (docs/pipelines.md).',
    example: 'pipelines',
  },
  // Without a default: a sync asks whether it is set.
  api: {
    ...oneOf<Api>(apis),
    about: `API whose pipelines run if none is named: ${defaultApi} by default`,
    optionAbout: 'API whose pipelines run if none is named',
    details: `API whose pipelines run if none is named: ${apiNames.join(', ')} or both ([transactions.md](transactions.md))`,
    defaultText: defaultApi,
    comment: `The API whose pipelines run if none is named: ${apiNames.join(', ')}, or both (docs/transactions.md).`,
    example: defaultApi,
  },
  // Left out: a sync loads them once a run has loaded some from the API.
  settlementReports: {
    ...trueOrFalse,
    about: 'Whether `sync` loads settlement reports too; by default once a run has loaded some from the API',
    details: 'Whether `sync` loads [settlement reports](import.md#from-the-service) too, `true` or `false`',
    defaultText: 'once a run has loaded some from the API',
    comment:
      'Whether sync loads settlement reports, which the service keeps for 90 days; default: once a backfill has loaded some.',
    example: true,
  },
  // Most late events arrive hours late, some days, and a few weeks late, when a reserve is released.
  lookBack: {
    // As a text it is days, which a sync reads again whatever it has read before.
    read: numberForm({ isWhole: true, least: 0, expected: 'a whole number of days from 0' }).read,
    schema: ({ array, number, object }) =>
      array(
        object('an object with `days` and `everyDays`', {
          days: number({ error: days }).int(days).min(1, days).describe('How many days back are read again'),
          everyDays: number({ error: everyDays }).min(0, everyDays).describe('Interval in days; 0: on each run'),
        }),
        { error: 'a list of {"days", "everyDays"}' },
      ),
    about: 'What `sync` reads again, and how often',
    optionAbout: 'Read this many days again, regardless of the schedule',
    details:
      'What `sync` reads again: a list of `days`, each `everyDays` ([nightly.md](nightly.md)); as text days, read again in each run',
    default: [
      { days: 2, everyDays: 0 },
      { days: 14, everyDays: 7 },
      { days: 35, everyDays: 30 },
    ],
    comment:
      'What sync reads again for late-arriving events: the last days, and the interval in days (0: on each run).',
  },
  // Left out: as the lake has it.
  retentionHours: {
    ...numberForm({
      isWhole: true,
      least: 0,
      most: mostRetentionHours,
      expected: `a whole number of hours from 0 to ${mostRetentionHours}`,
    }),
    about: 'How many hours replaced files stay; 0: they are deleted at once',
    details: 'How many hours replaced files stay ([engines.md](engines.md)); 0: they are deleted at once',
    defaultText: 'as the lake has it, 0 for a new one',
    comment: 'How many hours replaced files stay, for engines that read older versions (docs/engines.md).',
    example: 0,
  },
  export: {
    ...someOf<ExportFormat>(exportFormats),
    about: 'What runs write for other engines at their end',
    details:
      'What runs write for other engines at their end: a list of `iceberg` and `symlinks` ([engines.md](engines.md#iceberg)); as text ' +
      '`iceberg,symlinks`, or `none`',
    default: [],
    comment: 'What runs write for other engines at their end: "iceberg", "symlinks" (docs/engines.md).',
  },
  ...querySettings,
  sse: {
    ...oneOf(sseAlgorithms),
    about: 'What new objects of a lake on S3 are encrypted with; as the bucket has it by default',
    details:
      'What new objects of a lake on S3 are encrypted with: `AES256`, `aws:kms` or `aws:kms:dsse` ([s3.md](s3.md#encryption))',
    defaultText: 'as the bucket has it',
    comment:
      'What new objects of a lake on S3 are encrypted with, if the bucket demands it (docs/s3.md): AES256, aws:kms or aws:kms:dsse.',
    example: 'aws:kms',
  },
  kmsKey: {
    ...anyText('the id or ARN of a key of KMS'),
    about: 'Key of KMS for `sse`: its id or ARN',
    defaultText: "the account's default key",
    example: 'arn:aws:kms:REGION:ACCOUNT:key/ID',
  },
} as const satisfies SettingDefinitions;

const notifyAddress = 'an address that begins with https:// (http:// on loopback)';

function isNotifyAddress(text: string): boolean {
  return URL.canParse(text) && isSecure(new URL(text));
}

/** An address that is a secret: no message has it. */
const secretAddress: ValueForm<Secret> = {
  read: (name, text) => {
    if (isNotifyAddress(text)) return new Secret(text);
    throw usageError(`expected ${name} to be ${notifyAddress}, got something else; correct it`);
  },
  schema: ({ string }) =>
    string({ error: notifyAddress })
      .refine(isNotifyAddress, { error: notifyAddress })
      .transform((text) => new Secret(text)),
};

/** The settings of a command's log, of a run's metrics, and of the notification of its end. */
export const logSettings = {
  logFormat: {
    ...oneOf(logFormats),
    about: 'Format of the log',
    details: 'Format of the log: `text`, or `json` ([logs.md](logs.md))',
    default: 'text',
    comment: 'Format of the log: text, or json, one line per event (docs/logs.md).',
  },
  metricsPort: {
    ...numberForm({ isWhole: true, least: 0, most: 65_535, expected: 'a port from 0 to 65535' }),
    about: 'Port of the metrics for Prometheus; 0: any free port',
    optionAbout: 'Port to serve Prometheus metrics on during the run; 0 picks a free port',
    details: 'Port of the [metrics](metrics.md) for Prometheus; 0: any free port',
    comment: 'Metrics for Prometheus, during a run and at its end (docs/metrics.md); default: none.',
    example: 9464,
  },
  metricsHost: {
    ...anyText('an address'),
    about: `Address of the metrics; ${metricsHost} by default`,
    optionAbout: 'Address to serve metrics on',
    details: 'Address to serve metrics on',
    default: metricsHost,
  },
  metricsFile: {
    ...anyText('a file'),
    about:
      'File for the metrics at the end of a run, for the node exporter; {account} in its name stands for the account',
    optionAbout:
      'File to write the metrics to at the end of the run (textfile collector); {account} stands for the account',
    isPath: true,
    example: 'ledgerlake-{account}.prom',
  },
  // No option: others could read it on the command line.
  notify: {
    ...secretAddress,
    about:
      'Address to which sync, backfill, compact, verify, backup and worker post how they have ended, as JSON; in it {exit_code} ' +
      'stands for the exit code and {command} for the name of the command',
    details:
      'Address to which `sync`, `backfill`, `compact`, `verify`, `backup` and `worker` post how they have ended ' +
      '([nightly.md](nightly.md#a-dead-man-switch)); it is a secret',
    comment: 'Where a night posts how it has ended, such as a dead-man switch (docs/nightly.md).',
    example: 'https://hc-ping.com/your-ping-key/ledgerlake-{command}/{exit_code}',
  },
} as const satisfies SettingDefinitions;

const { lake, ...otherRunSettings } = runSettings;

/** All settings, in the order of the JSON Schema. */
export const settingDefinitions = {
  lake,
  // `resolve-account.ts` reads its option and its variable, with others that decide on the account.
  account: {
    schema: ({ string }) => string({ error: nameOfAccount }).regex(accountPattern, nameOfAccount),
    details: 'Account to load',
    defaultText: 'all accounts of the file',
    comment: 'The account of a run, if there are several below.',
  },
  ...otherRunSettings,
  ...logSettings,
} as const satisfies SettingDefinitions;

type FileValueOf<D> = D extends { readonly schema: ValueForm<infer T>['schema'] } ? T : never;
type TextValueOf<D> = D extends { readonly read: ValueForm<infer T>['read'] } ? T : never;

/** The settings that a configuration has. */
export type FileSettings = {
  readonly [Name in keyof typeof settingDefinitions]?: FileValueOf<(typeof settingDefinitions)[Name]> | undefined;
};

/** The values of settings: one without a default may be undefined. */
export type SettingValues<D> = {
  readonly [Name in keyof D]:
    FileValueOf<D[Name]> | TextValueOf<D[Name]> | (D[Name] extends { readonly default: unknown } ? never : undefined);
};

export function settingVariable(name: string): string {
  return `LEDGERLAKE_${optionOf(name).toUpperCase().replaceAll('-', '_')}`;
}
