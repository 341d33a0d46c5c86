import ts from 'typescript';
import { expect, test } from 'vitest';
import { levels } from '../../../src/core/events/run-event.js';
import { documentedEvents } from './documented.js';

/** The members of the union `RunEvent` with their fields, as the compiler sees them. */
function declaredEvents(): Map<string, string[]> {
  const file = 'src/core/events/run-event.ts';
  const program = ts.createProgram([file], { strict: true, noLib: true, noResolve: true, types: [] });
  const source = program.getSourceFile(file);
  const checker = program.getTypeChecker();
  const alias = source?.statements
    .filter((statement) => ts.isTypeAliasDeclaration(statement))
    .find(({ name }) => name.text === 'RunEvent');
  const type = alias && checker.getTypeAtLocation(alias);
  const members = type?.isUnion() === true ? type.types : [];
  return new Map(
    members.map((member) => {
      const fields = member.getProperties().map(({ name }) => name);
      const symbol = member.getProperty('event');
      const event = symbol && checker.getTypeOfSymbol(symbol);
      return [event?.isStringLiteral() === true ? event.value : '?', fields.filter((name) => name !== 'event')];
    }),
  );
}

test('docs/logs.md has every event, its level and its fields', async () => {
  const documented = await documentedEvents();
  const declared = declaredEvents();
  expect(declared.size).toBe(Object.keys(levels).length);
  expect(declared.size).toBeGreaterThan(25);
  const asDocumented = [...documented].map(([name, { level, fields }]) => [name, level, fields.toSorted()]);
  const asDeclared = [...declared].map(([name, fields]) => [
    name,
    Object.entries(levels).find(([known]) => known === name)?.[1],
    fields.toSorted(),
  ]);
  const byName = (a: unknown[], b: unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);
  expect(asDocumented.toSorted(byName)).toEqual(asDeclared.toSorted(byName));
});
