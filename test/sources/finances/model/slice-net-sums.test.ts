import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Flattener } from '../../../../src/sources/finances/api-v0/flatten.js';
import { decimalScale, decimalText } from '../../../../src/core/numeric/decimal.js';
import { netSumTexts } from '../../../../src/sources/finances/model/slice-batches.js';
import { attributes } from '../../../../src/sources/finances/api-v0/attributes.js';
import { newWarnings, SliceRows } from '../../../../src/sources/finances/model/slice-rows.js';
import { windowSubject } from '../../../../src/sources/finances/model/slice-rows.js';
import { scan } from '../../../../src/core/json/scan.js';
import { Tape } from '../../../../src/core/json/tape.js';

const most = 10n ** 18n - 1n;
const millionths = fc.oneof(
  fc.bigInt({ min: -most, max: most }),
  fc.bigInt({ min: -5_000_000n, max: 5_000_000n }),
  fc.constantFrom(most, -most, -1n, 0n, 1n, 2n ** 32n - 1n, 2n ** 32n, -(2n ** 32n)),
);

test('net sums are exact whatever the amounts: held against BigInt', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ amount: millionths, currency: fc.constantFrom('USD', 'JPY', '', null) })),
      (amounts) => {
        const rows = new SliceRows(attributes);
        rows.begin(windowSubject({ start: 0, end: 1 }));
        const flattener = new Flattener(rows, newWarnings());
        const expected = new Map<string, bigint>();
        for (const { amount, currency } of amounts) {
          const json = `{"AdjustmentAmount":{"CurrencyCode":${JSON.stringify(currency)},"CurrencyAmount":${decimalText(amount, decimalScale)}}}`;
          const tape = new Tape();
          scan(Buffer.from(json), tape);
          flattener.add(tape, 'AdjustmentEventList', 0);
          expected.set(currency ?? '', (expected.get(currency ?? '') ?? 0n) + amount);
        }
        const sums = Object.entries(netSumTexts(rows, [...amounts.keys()]));
        expect(new Map(sums)).toEqual(
          new Map([...expected].map(([currency, sum]) => [currency, decimalText(sum, decimalScale)])),
        );
      },
    ),
  );
});
