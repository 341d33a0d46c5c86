import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { inputSchema, readArguments, type Tool } from '../../../src/app/mcp/tool.js';

const tool: Tool = {
  description: '',
  args: {
    sql: { type: 'string', description: '', isRequired: true },
    limit: { type: 'integer', description: '', minimum: 1, maximum: 50, default: 10 },
    days: { type: 'boolean', description: '' },
  },
  run: () => Promise.resolve({}),
};

test('a schema names each argument, and what is required', () => {
  expect(inputSchema(tool)).toEqual({
    type: 'object',
    properties: {
      sql: { type: 'string', description: '' },
      limit: { type: 'integer', description: '', minimum: 1, maximum: 50, default: 10 },
      days: { type: 'boolean', description: '' },
    },
    required: ['sql'],
    additionalProperties: false,
  });
});

test('arguments are read with their defaults; null is one that was left out', () => {
  expect(readArguments('query', tool, { sql: 'x', days: null })).toEqual({ sql: 'x', limit: 10, days: undefined });
  expect(() => readArguments('query', tool, { sqll: 'x' })).toThrow(
    'expected an argument of query (sql, limit, days), got "sqll"; did you mean sql?',
  );
  expect(() => readArguments('query', tool, {})).toThrow('expected the argument sql, got none');
});

test('whatever is sent, arguments have their types and bounds, or the error is one line', () => {
  const value = fc.oneof(fc.jsonValue(), fc.integer({ min: -3, max: 60 }), fc.string(), fc.boolean());
  const given = fc.dictionary(fc.oneof(fc.constantFrom('sql', 'limit', 'days'), fc.string()), value, { maxKeys: 4 });
  fc.assert(
    fc.property(given, (args) => {
      let read;
      try {
        read = readArguments('query', tool, args);
      } catch (error) {
        expect(error).toBeInstanceOf(LedgerlakeError);
        expect(error).toMatchObject({ code: 'USAGE', message: expect.stringMatching(/^expected [^\n]+$/) as string });
        return;
      }
      expect(typeof read['sql']).toBe('string');
      expect(['boolean', 'undefined']).toContain(typeof read['days']);
      expect(Number.isInteger(read['limit']) && Number(read['limit']) >= 1 && Number(read['limit']) <= 50).toBe(true);
    }),
  );
});
