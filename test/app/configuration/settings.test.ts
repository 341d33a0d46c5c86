import { describe, expect, test } from 'vitest';
import type { Configuration } from '../../../src/app/configuration/configuration.js';
import { nearestName } from '../../../src/core/text/fault-line.js';
import {
  settingDefinitions,
  settingVariable,
  type SettingDefinition,
} from '../../../src/app/configuration/setting-definitions.js';
import {
  resolveLogSettings,
  resolveSettings,
  type LogSettings,
  type Settings,
} from '../../../src/app/configuration/settings.js';
import { optionOf } from '../../../src/core/text/value-forms.js';

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
    cacheGigabytes: 10,
    export: [],
    lookBack: [
      { days: 2, everyDays: 0 },
      { days: 14, everyDays: 7 },
      { days: 35, everyDays: 30 },
    ],
  });
});

/** The value of a setting, where another member of the settings has it. */
function valueOf(name: string, settings: Settings & LogSettings): unknown {
  const { pipelineFolder: pipelines, encryption } = settings;
  return { ...settings, ...encryption, pipelines }[name];
}

/** Texts, some of which each setting takes. */
const texts = [
  '2',
  '3',
  'none',
  'iceberg',
  'Asia/Tokyo',
  'Europe/Berlin',
  '2022-01-01',
  '2023-01-01',
  'https://a.example/',
];

describe.each(Object.entries<SettingDefinition>(settingDefinitions).filter(([, { read }]) => read))(
  '%s',
  (name, { read, words = texts, isPath, default: usual }) => {
    const [option, variable] = [optionOf(name), settingVariable(name)];
    const taken = words.filter((text) => isTaken(() => read?.(variable, text)));
    const [first = '', second = first] = taken;
    const value = (text: string) => read?.(variable, text);
    const resolved = (options: object, environment: object, inFile: object) =>
      valueOf(name, {
        ...resolveSettings({ ...options }, { ...environment }, { ...none, settings: inFile }),
        ...resolveLogSettings({ ...options }, { ...environment }, { ...none, settings: inFile }),
      });

    test('the command line goes before the environment, that before the file, that before the default', () => {
      expect(taken.length).toBeGreaterThan(0);
      const inFile = { [name]: value(second) };
      expect(resolved({ [option]: first }, { [variable]: second }, inFile)).toEqual(value(first));
      expect(resolved({ [option]: second }, { [variable]: first }, inFile)).toEqual(value(second));
      expect(resolved({}, { [variable]: first }, inFile)).toEqual(value(first));
      expect(resolved({}, { [variable]: '' }, inFile)).toEqual(isPath ? `/srv/lakes/${second}` : value(second));
      expect(resolved({}, {}, {})).toEqual(usual);
    });
  },
);

function isTaken(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

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

test('days of a look-back are no negative number', () => {
  expect(() => resolveSettings({ 'look-back': '-1' }, {}, none)).toThrow(
    'expected --look-back to be a whole number of days from 0, got "-1"',
  );
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
