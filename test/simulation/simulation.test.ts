import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { bundled } from './bundle.js';
import { mutationRows } from './mutation-table.js';
import { mutations, openMutations } from './mutations.js';
import { replayLine, runSeeds } from './run-seeds.js';

const days = 42;
/** As many as take ten seconds, the same one twice; `make torture` and `make simulate` play whole years. */
const seeds = [5, 5];

test('sellers, faults and crashes of six weeks leave the lake as the service has answered, and a seed determines all of it', async () => {
  const played = await runSeeds(await bundled('test'), { seeds, days, isShrunk: true });
  expect(played.flatMap((one) => (one.failure === undefined ? [] : [replayLine(one, days)]))).toEqual([]);
  expect(played.at(-1)?.trace).toBe(played[0]?.trace);
  expect(played.every(({ figures }) => figures.compared > 20)).toBe(true);
});

test('a commit that is claimed before its files are put is found, by fewer steps too', async () => {
  const chosen = mutations.find(({ name }) => name === 'commit-before-files');
  if (chosen === undefined) throw new Error('there is no such mutation');
  const [found] = await runSeeds(await bundled('test-of-mutation', [chosen]), { seeds: [chosen.seed], days });
  expect(found?.failure).toContain('is missing');
});

test('docs/testing.md has the table of the deliberate faults', async () => {
  const page = await readFile('docs/testing.md', 'utf8');
  const rows = page.split('\n').map((line) => line.replaceAll(/ +/g, ' '));
  expect(mutations.length).toBe(31);
  expect(mutationRows(mutations).filter((row) => !rows.includes(row))).toEqual([]);
});

test.each([...mutations, ...openMutations])('$name replaces a text that its file has once', async ({ file, text }) => {
  expect((await readFile(file, 'utf8')).split(text)).toHaveLength(2);
});
