import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import {
  amountInText,
  arrayText,
  jsonText,
  memberText,
  nameText,
  numberText,
  objectText,
  scalarText,
  stringText,
} from './arbitraries.js';

/** Mostly what belongs there, at times something else. */
export const mostly = (usual: Arbitrary<string>, odd: Arbitrary<string>): Arbitrary<string> =>
  fc.oneof({ weight: 15, arbitrary: usual }, { weight: 1, arbitrary: odd });

/** A member of a given name. */
export const named = (name: string, value: Arbitrary<string>): Arbitrary<string> => memberText(nameText(name), value);

/** Each member there or not, names twice at times, in any order. */
export function someOf(members: readonly Arbitrary<string>[], share: number): Arbitrary<string[]> {
  const absent = { weight: Math.round(1 / share) - 1, arbitrary: fc.constant(undefined) };
  const rank = fc.nat(1000);
  const each = members.map((member) => fc.oneof(absent, { weight: 1, arbitrary: fc.tuple(rank, member) }));
  return fc.tuple(...each).map((chosen) =>
    chosen
      .filter((member) => member !== undefined)
      .sort(([left], [right]) => left - right)
      .map(([, text]) => text),
  );
}

const word = fc.constantFrom('"Principal"', '"Commission"', '"A-1"', '"902-1845936-5435065"', '"Amazon.de"', '""');
export const wordText = fc.oneof(
  { weight: 12, arbitrary: word },
  { weight: 2, arbitrary: stringText },
  { weight: 1, arbitrary: jsonText },
);

const currency = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('"EUR"', '"USD"', '"JPY"') },
  { weight: 1, arbitrary: fc.constantFrom('""', '"\\u0045UR"', '"\\ud800"', '5', 'null', '{}', '["EUR"]', 'false') },
);

export const kindMember = fc
  .constantFrom('ChargeType', 'FeeType', 'PromotionType', 'AdjustmentType', 'feeType', 'Type', 'type', 'TypeName')
  .chain((name) => named(name, wordText));

export const oddName = fc.oneof(
  fc
    .constantFrom(
      '',
      'Extra',
      'ExtraList',
      'A.B',
      'A[]',
      '[]',
      '.',
      '__proto__',
      'constructor',
      '0',
      'é',
      '\ud800',
      '\udfff',
      '\ufffd',
      '😀',
    )
    .chain(nameText),
  // Names that look like a path of the model.
  fc.constantFrom('"AdjustmentAmount"', '"OrderChargeList[].ChargeAmount"', '"ItemFeeList"', '"CurrencyAmount"'),
  stringText,
);

export const { money: moneyText, wild: wildText } = fc.letrec<{ money: string; amount: string; wild: string }>(
  (tie) => ({
    /** Both members, at times only one, or twice, or among others. */
    money: fc.oneof(
      {
        weight: 8,
        arbitrary: objectText(fc.tuple(named('CurrencyCode', currency), named('CurrencyAmount', tie('amount')))),
      },
      {
        weight: 1,
        arbitrary: objectText(
          someOf(
            [
              named('CurrencyCode', currency),
              named('CurrencyCode', currency),
              named('CurrencyAmount', tie('amount')),
              named('CurrencyAmount', tie('amount')),
              named('currencyAmount', tie('amount')),
              kindMember,
              named('Inner', tie('wild')),
            ],
            0.5,
          ),
        ),
      },
    ),
    amount: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'wild' },
      { weight: 20, arbitrary: numberText },
      { weight: 3, arbitrary: amountInText },
      { weight: 2, arbitrary: fc.constantFrom('null', 'true', '{}', '[]', '""', '[1]') },
      { weight: 1, arbitrary: tie('money') },
    ),
    /** Money anywhere: in arrays of arrays, below unknown names, inside money. */
    wild: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'wild' },
      { weight: 1, arbitrary: scalarText },
      { weight: 2, arbitrary: tie('money') },
      { weight: 1, arbitrary: arrayText(fc.array(tie('wild'), { maxLength: 3 })) },
      {
        weight: 2,
        arbitrary: objectText(fc.array(fc.oneof(memberText(oddName, tie('wild')), kindMember), { maxLength: 4 })),
      },
    ),
  }),
);

/** Money under up to a hundred levels. */
export const deepText = fc
  .tuple(moneyText, fc.array(fc.constantFrom('[]', '{}'), { maxLength: 100, size: 'max' }))
  .map(([inner, levels]) => levels.reduce((text, level) => (level === '[]' ? `[${text}]` : `{"D":${text}}`), inner));
