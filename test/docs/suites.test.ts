import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

test('each suite of the gate has a budget in CONTRIBUTING.md, and together they fit into it', async () => {
  const [page, gate, makefile] = await Promise.all(
    ['CONTRIBUTING.md', '.ci/run', 'Makefile'].map((file) => readFile(file, 'utf8')),
  );
  const rows = page?.matchAll(/^\| `make ([a-z0-9-]+)` .*\| ([\d.]+) +\| (\w.*?) +\|$/gm) ?? [];
  const suites = [...rows].map(([, target = '', minutes, runs]) => ({ target, minutes: Number(minutes), runs }));
  for (const { target } of suites) expect(makefile).toMatch(new RegExp(`^${target}:.* ## `, 'm'));
  const ofGate = [...(gate?.matchAll(/^make (\S+)$/gm) ?? [])].map(([, target]) => target);
  const promised = suites.filter(({ runs }) => runs === 'yes');
  expect(ofGate.toSorted()).toEqual(promised.map(({ target }) => target).toSorted());
  expect(promised.reduce((sum, { minutes }) => sum + minutes, 0)).toBeLessThanOrEqual(45);
});
