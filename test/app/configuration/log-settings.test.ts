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

test.each([
  [{ 'log-format': 'xml' }, {}, /--log-format to be one of text, json, got "xml"/],
  [{}, { LEDGERLAKE_LOG_FORMAT: 'JSON' }, /LEDGERLAKE_LOG_FORMAT to be one of text, json, got "JSON"/],
  [{ 'metrics-port': '65536' }, {}, /--metrics-port to be a port from 0 to 65535, got "65536"/],
  [{}, { LEDGERLAKE_METRICS_PORT: 'x' }, /LEDGERLAKE_METRICS_PORT to be a port from 0 to 65535, got "x"/],
])('%o and %o are refused', (given, environment, message) => {
  expect(() => resolveLogSettings(given, environment, none)).toThrow(message);
});
