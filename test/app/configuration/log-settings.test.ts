import { expect, test } from 'vitest';
import { resolveLogSettings } from '../../../src/app/configuration/settings.js';

const none = { folder: '/etc/lakes', settings: {} };

test('defaults', () => {
  expect(resolveLogSettings({}, {}, none)).toEqual({
    logFormat: 'text',
    metricsPort: undefined,
    metricsHost: '127.0.0.1',
    metricsFile: undefined,
  });
});

test('the command line goes before the environment, that before the file', () => {
  const file = { logFormat: 'json', metricsPort: 1, metricsHost: '::1', metricsFile: 'm.prom' } as const;
  const config = { folder: '/etc/lakes', settings: file };
  const environment = {
    LEDGERLAKE_LOG_FORMAT: 'text',
    LEDGERLAKE_METRICS_PORT: '2',
    LEDGERLAKE_METRICS_HOST: '0.0.0.0',
    LEDGERLAKE_METRICS_FILE: 'e.prom',
  };
  const given = { 'log-format': 'json', 'metrics-port': '0', 'metrics-host': 'h', 'metrics-file': 'g.prom' };
  const own = { logFormat: 'json', metricsPort: 1, metricsHost: '::1', metricsFile: '/etc/lakes/m.prom' };
  expect(resolveLogSettings({}, {}, config)).toEqual(own);
  const fromEnvironment = { logFormat: 'text', metricsPort: 2, metricsHost: '0.0.0.0', metricsFile: 'e.prom' };
  expect(resolveLogSettings({}, environment, config)).toEqual(fromEnvironment);
  expect(resolveLogSettings(given, environment, config)).toEqual({
    logFormat: 'json',
    metricsPort: 0,
    metricsHost: 'h',
    metricsFile: 'g.prom',
  });
});

test.each([
  [{ 'log-format': 'xml' }, {}, /--log-format to be one of text, json, got "xml"/],
  [{}, { LEDGERLAKE_LOG_FORMAT: 'JSON' }, /LEDGERLAKE_LOG_FORMAT to be one of text, json, got "JSON"/],
  [{ 'metrics-port': '65536' }, {}, /--metrics-port to be a port from 0 to 65535, got "65536"/],
  [{}, { LEDGERLAKE_METRICS_PORT: 'x' }, /LEDGERLAKE_METRICS_PORT to be a port from 0 to 65535, got "x"/],
])('%o and %o are refused', (given, environment, message) => {
  expect(() => resolveLogSettings(given, environment, none)).toThrow(message);
});
