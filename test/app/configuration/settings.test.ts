import { expect, test } from 'vitest';
import type { Configuration } from '../../../src/app/configuration/configuration.js';
import { nearestName } from '../../../src/core/text/fault-line.js';
import { resolveSettings } from '../../../src/app/configuration/settings.js';

const none: Configuration = { file: undefined, folder: '/srv/lakes', settings: {}, accounts: new Map() };

test('defaults', () => {
  expect(resolveSettings({}, {}, none)).toEqual({
    lake: 'data/lake',
    from: undefined,
    rate: 0.5,
    burst: undefined,
    marginMinutes: 5,
    tokenLifeMinutes: 3,
    journal: undefined,
    timeZone: 'UTC',
    cacheFolder: undefined,
    cacheBytes: 1e10,
    export: [],
    lookBack: [
      { days: 2, everyDays: 0 },
      { days: 14, everyDays: 7 },
      { days: 35, everyDays: 30 },
    ],
  });
});

test('the command line goes before the environment, that before the file, that before the default', () => {
  const file = {
    lake: 'f',
    from: '2023-01-01',
    rate: 3,
    burst: 3,
    marginMinutes: 3,
    tokenLifeMinutes: 4,
    journal: 'j',
    api: '2024-06-19' as const,
    lookBack: [],
    retentionHours: 24,
    export: ['iceberg' as const],
    timeZone: 'Europe/Berlin',
    chart: 'accounts.csv',
    costs: 'costs.csv',
  };
  const cache = { cache: 'c', cacheGigabytes: 4 };
  const config = { ...none, file: 'c.json', settings: { ...file, ...cache, sse: 'AES256' as const } };
  const environment = {
    LEDGERLAKE_LAKE: 'e',
    LEDGERLAKE_FROM: '2022-01-01',
    LEDGERLAKE_RATE: '2',
    LEDGERLAKE_BURST: '2',
    LEDGERLAKE_MARGIN_MINUTES: '2',
    LEDGERLAKE_TOKEN_LIFE_MINUTES: '2.5',
    LEDGERLAKE_JOURNAL: 'ej',
    LEDGERLAKE_CACHE: 'ec',
    LEDGERLAKE_CACHE_GIGABYTES: '0.5',
    LEDGERLAKE_API: 'both',
    LEDGERLAKE_SSE: 'aws:kms:dsse',
    LEDGERLAKE_KMS_KEY: 'ek',
    LEDGERLAKE_LOOK_BACK: '4',
    LEDGERLAKE_RETENTION_HOURS: '0',
    LEDGERLAKE_EXPORT: 'none',
    LEDGERLAKE_TIME_ZONE: 'Asia/Tokyo',
    LEDGERLAKE_CHART: 'ea.csv',
    LEDGERLAKE_COSTS: 'ec.csv',
  };
  const given = { lake: 'g', from: '2021-01-01', rate: '1', burst: '1', journal: 'gj', api: 'v0' };
  expect(() => resolveSettings({ 'look-back': '-1' }, {}, config)).toThrow(
    /expected --look-back to be a whole number of days from 0, got "-1"/,
  );
  expect(resolveSettings({}, {}, config)).toEqual({
    ...file,
    encryption: { sse: 'AES256' },
    lake: '/srv/lakes/f',
    journal: '/srv/lakes/j',
    chart: '/srv/lakes/accounts.csv',
    costs: '/srv/lakes/costs.csv',
    cacheFolder: '/srv/lakes/c',
    cacheBytes: 4e9,
  });
  expect(resolveSettings({}, environment, config)).toEqual({
    lake: 'e',
    from: '2022-01-01',
    rate: 2,
    burst: 2,
    marginMinutes: 2,
    tokenLifeMinutes: 2.5,
    journal: 'ej',
    cacheFolder: 'ec',
    cacheBytes: 5e8,
    api: 'both',
    lookBack: 4,
    retentionHours: 0,
    export: [],
    timeZone: 'Asia/Tokyo',
    chart: 'ea.csv',
    costs: 'ec.csv',
    encryption: { sse: 'aws:kms:dsse', kmsKey: 'ek' },
  });
  expect(resolveSettings(given, environment, config)).toMatchObject({ ...given, rate: 1, burst: 1 });
  expect(resolveSettings({ cache: 'gc' }, environment, config).cacheFolder).toBe('gc');
  const empty = Object.fromEntries(Object.keys(environment).map((name) => [name, '']));
  expect(resolveSettings({}, empty, config)).toEqual(resolveSettings({}, {}, config));
});

test('the encryption of a lake on S3 is none, an algorithm, or one of KMS with its key', () => {
  const read = (settings: object) => resolveSettings({}, {}, { ...none, settings }).encryption;
  expect(read({})).toBeUndefined();
  expect(read({ sse: 'AES256' })).toEqual({ sse: 'AES256' });
  expect(read({ sse: 'aws:kms' })).toEqual({ sse: 'aws:kms' });
  expect(read({ kmsKey: 'k' })).toEqual({ sse: 'aws:kms', kmsKey: 'k' });
  expect(read({ sse: 'aws:kms:dsse', kmsKey: 'k' })).toEqual({ sse: 'aws:kms:dsse', kmsKey: 'k' });
  expect(() => read({ sse: 'AES256', kmsKey: 'k' })).toThrow(/expected sse to be aws:kms or aws:kms:dsse with kmsKey/);
  expect(() => resolveSettings({}, { LEDGERLAKE_SSE: 'kms' }, none)).toThrow(
    /LEDGERLAKE_SSE to be one of AES256, aws:kms/,
  );
});

test.each(['s3://b/p', 'S3://b/p', 's3:/b/p', 'gs://b/p'])('a URL as the lake (%s) is no path', (lake) => {
  expect(resolveSettings({}, {}, { ...none, settings: { lake } }).lake).toBe(lake);
});

test.each([
  ['LEDGERLAKE_RATE', 'fast', /expected LEDGERLAKE_RATE to be a number greater than 0, got "fast"/],
  ['LEDGERLAKE_BURST', '0.5', /expected LEDGERLAKE_BURST to be a whole number from 1/],
  [
    'LEDGERLAKE_MARGIN_MINUTES',
    '1',
    /expected LEDGERLAKE_MARGIN_MINUTES to be a number of minutes from 2 to 1440, got "1"/,
  ],
  ['LEDGERLAKE_TOKEN_LIFE_MINUTES', '-3', /expected LEDGERLAKE_TOKEN_LIFE_MINUTES/],
  [
    'LEDGERLAKE_RETENTION_HOURS',
    '1.5',
    /expected LEDGERLAKE_RETENTION_HOURS to be a whole number of hours from 0 to 8760, got "1.5"/,
  ],
  [
    'LEDGERLAKE_EXPORT',
    'iceberg,hudi',
    /expected LEDGERLAKE_EXPORT to be none or some of iceberg,symlinks, got "iceberg,hudi"/,
  ],
  [
    'LEDGERLAKE_TIME_ZONE',
    'Europe/Berln',
    /^expected LEDGERLAKE_TIME_ZONE to be the IANA name of a time zone such as Europe\/Berlin, got "Europe\/Berln"; did you mean Europe\/Berlin\?$/,
  ],
  ['LEDGERLAKE_TIME_ZONE', '+02:00', /IANA name of a time zone such as Europe\/Berlin, got "\+02:00"$/],
  [
    'LEDGERLAKE_RETENTION_HOURS',
    '8761',
    /expected LEDGERLAKE_RETENTION_HOURS to be a whole number of hours from 0 to 8760/,
  ],
])('%s=%s is refused', (name, text, message) => {
  expect(() => resolveSettings({}, { [name]: text }, none)).toThrow(message);
});

test('the nearest name is the one that was meant, or none', () => {
  const names = ['clientId', 'clientSecret', 'refreshToken', 'region'];
  expect(nearestName('client_secret', names)).toBe('clientSecret');
  expect(nearestName('ClientID', names)).toBe('clientId');
  expect(nearestName('refreshTokn', names)).toBe('refreshToken');
  expect(nearestName('regin', names)).toBe('region');
  expect(nearestName('marketplace', names)).toBeUndefined();
  expect(nearestName('x'.repeat(1000), names)).toBeUndefined();
  expect(nearestName('a', [])).toBeUndefined();
  const options = ['output', 'verbose', 'help', 'lake'];
  expect(nearestName('out', options)).toBe('output');
  expect(nearestName('halp', options)).toBe('help');
  expect(nearestName('deep', options)).toBeUndefined();
});
