import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const read = (path: string) => readFile(path, 'utf8');

test('the docs have the definition that the tests load, and its twin in TypeScript is the same', async () => {
  const definition = await read('test/sources/custom/pipelines/shipments.mjs');
  const [, shown] = /```js\n(.*?)```/s.exec(await read('docs/pipelines.md')) ?? [];
  expect(shown).toBe(definition);
  const body = (text: string) => text.slice(text.indexOf('export default'), text.lastIndexOf('\n}'));
  expect(body(await read('test/sources/custom/typescript/shipments.ts'))).toBe(body(definition));
});
