import { describe, expect, test } from 'vitest';
import { readAccount, refuseMixing } from '../../../src/app/configuration/account.js';
import { readOrders, choosePipelines, unknownPipeline } from '../../../src/app/configuration/chosen-pipelines.js';

const usage = (message: RegExp) =>
  expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) as string }) as Error;

describe('pipelines', () => {
  test('no name means the default set', () => {
    expect(choosePipelines([], false).map(({ name }) => name)).toEqual([
      'financial-event-groups',
      'financial-events',
      'group-events',
    ]);
  });

  test('a name twice is one pipeline', () => {
    expect(choosePipelines(['group-events', 'group-events'], false)).toHaveLength(1);
  });

  test('an unknown name is refused with those that there are', () => {
    expect(() => choosePipelines(['financial-event'], false)).toThrow(usage(/financial-events.*got "financial-event"/));
  });

  test('an account in the place of a pipeline is taken for a forgotten --account', () => {
    expect(unknownPipeline('shop', [], new Set(['shop'])).message).toMatch(/; did you mean --account shop\?$/);
  });

  test('order ids and their pipeline go together', () => {
    expect(() => choosePipelines(['order-events'], false)).toThrow(usage(/--orders/));
    expect(() => choosePipelines([], true)).toThrow(usage(/order-events/));
    expect(choosePipelines(['order-events'], true)).toHaveLength(1);
  });
});

describe('order ids', () => {
  test('one a line, blank lines passed over, each once', () => {
    expect(readOrders('902-1845936-5435065\r\n\n 902-1845936-5435066\n902-1845936-5435065\n', 'x')).toEqual([
      '902-1845936-5435065',
      '902-1845936-5435066',
    ]);
  });

  test('a malformed one is named with its file and line', () => {
    expect(() => readOrders('902-1845936-5435065\n902-1845936\n', 'ids.txt')).toThrow(
      usage(/"902-1845936" in ids.txt, line 2/),
    );
  });

  test('a file without any is refused', () => {
    expect(() => readOrders('\n\n', 'ids.txt')).toThrow(usage(/got none in ids.txt/));
  });
});

describe('accounts', () => {
  test('the embedded service serves demo alone', () => {
    expect(readAccount(undefined, undefined)).toBe('demo');
    expect(() => readAccount('shop', undefined)).toThrow(usage(/--endpoint/));
  });

  test('an endpoint needs an account', () => {
    expect(readAccount('shop', 'http://x')).toBe('shop');
    expect(() => readAccount(undefined, 'http://x')).toThrow(usage(/--account/));
  });

  test.each(['', '..', '.a', 'a/b', 'a b', 'a=b', 'ä', 'x'.repeat(65)])('%j is no name for a folder', (name) => {
    expect(() => readAccount(name, 'http://x')).toThrow(usage(/--account/));
  });

  test('made-up money never stands beside real money', () => {
    expect(() => {
      refuseMixing('shop', new Set(['demo']), 'l');
    }).toThrow(usage(/demo/));
    expect(() => {
      refuseMixing('demo', new Set(['shop']), 'l');
    }).toThrow(usage(/did you mean --account shop\? Or choose another --lake$/));
    expect(() => {
      refuseMixing('shop', new Set(['other']), 'l');
    }).not.toThrow();
    expect(() => {
      refuseMixing('demo', new Set(['demo']), 'l');
    }).not.toThrow();
  });
});
