import { expect, test } from 'vitest';
import { parseConfiguration } from '../../../src/app/configuration/configuration.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { grammarClasses, type GrammarCase } from '../../reference/json-grammar.js';
import { isJson } from '../../reference/json-values.js';

/** What a configuration makes of a lake's path with these bytes: the path, or the message of its error. */
function outcome({ bytes }: GrammarCase): { readonly lake?: string; readonly message?: string } {
  const text = Buffer.concat([Buffer.from('{"settings":{"lake":'), bytes, Buffer.from('}}')]);
  try {
    const { lake } = parseConfiguration(text, 'c.json', '/home/me').settings;
    return lake === undefined ? {} : { lake };
  } catch (error) {
    if (!(error instanceof LedgerlakeError && error.code === 'USAGE')) throw error;
    return { message: error.message };
  }
}

test.each(Object.entries(grammarClasses))(
  'a configuration with %s is read as JSON.parse reads it, or refused in a line',
  (_, cases) => {
    const faults = cases.flatMap((one) => {
      const { lake, message } = outcome(one);
      const value = isJson(one.bytes) ? (JSON.parse(one.bytes.toString()) as unknown) : undefined;
      const isRead = lake !== undefined && lake === value;
      const isRefused =
        message !== undefined && message.startsWith('c.json') && message.length < 1000 && !/[\0-\x1f]/.test(message);
      return isRead || isRefused ? [] : [{ name: one.name, lake, message, value }];
    });
    expect(faults).toEqual([]);
  },
);
