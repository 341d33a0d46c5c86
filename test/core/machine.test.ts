import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { duckdbMemory, readMachine, threadsOf } from '../../src/core/machine.js';
import { temporaryFolder } from '../app/lake-run.js';

const all = { cores: 16, memoryBytes: 64e9 };

async function machineOf(files: Readonly<Record<string, string>>) {
  const root = await temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return readMachine(root, all);
}

const group = 'sys/fs/cgroup';

test('without control groups all of the machine counts', async () => {
  expect(await machineOf({})).toEqual(all);
  expect(readMachine('/').cores).toBeGreaterThan(0);
});

test.each([
  ['200000 100000\n', '536870912\n', 2, 536_870_912],
  ['150000 100000\n', 'max\n', 2, 64e9],
  ['5000 100000\n', '1\n', 1, 1],
  ['max 100000\n', 'max\n', 16, 64e9],
  ['9900000 100000\n', '99000000000\n', 16, 64e9],
])('version 2: %j and %j', async (cpu, memory, cores, memoryBytes) => {
  expect(
    await machineOf({
      'proc/self/cgroup': '0::/\n',
      [`${group}/cpu.max`]: cpu,
      [`${group}/memory.max`]: memory,
    }),
  ).toEqual({ cores, memoryBytes });
});

test.each([
  ['200000\n', '536870912\n', 2, 536_870_912],
  ['-1\n', '9223372036854771712\n', 16, 64e9],
])('version 1: %j and %j', async (quota, memory, cores, memoryBytes) => {
  const files = {
    [`${group}/cpu,cpuacct/cpu.cfs_quota_us`]: quota,
    [`${group}/cpu,cpuacct/cpu.cfs_period_us`]: '100000\n',
    [`${group}/memory/memory.limit_in_bytes`]: memory,
  };
  // A container sees the path that its group has on the machine.
  const groups = '9:name=systemd:/docker/1f\n5:cpu,cpuacct:/docker/1f\n4:memory:/docker/1f\n';
  expect(await machineOf({ ...files, 'proc/self/cgroup': groups })).toEqual({ cores, memoryBytes });
});

test('the least limit counts of the groups around the process', async () => {
  const slice = `${group}/kubepods.slice`;
  const files = {
    'proc/self/cgroup': '0::/kubepods.slice/pod1/box\n',
    [`${slice}/cpu.max`]: 'max 100000\n',
    [`${slice}/memory.max`]: '8000000000\n',
    [`${slice}/pod1/cpu.max`]: '300000 100000\n',
    [`${slice}/pod1/memory.max`]: '2000000000\n',
    [`${slice}/pod1/box/cpu.max`]: '400000 100000\n',
    [`${slice}/pod1/box/memory.max`]: 'max\n',
  };
  expect(await machineOf(files)).toEqual({ cores: 3, memoryBytes: 2e9 });
});

test('any contents leave at least one core and the memory of the machine at most', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, group), { recursive: true });
  await mkdir(join(root, 'proc/self'), { recursive: true });
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), fc.string(), async (groups, cpu, memory) => {
      await writeFile(join(root, 'proc/self/cgroup'), `0::/\n${groups}`);
      await writeFile(join(root, group, 'cpu.max'), cpu);
      await writeFile(join(root, group, 'memory.max'), memory);
      const { cores, memoryBytes } = readMachine(root, all);
      expect(Number.isInteger(cores) && cores >= 1 && cores <= all.cores).toBe(true);
      expect(memoryBytes > 0 && memoryBytes <= all.memoryBytes).toBe(true);
    }),
  );
});

test('threads and the memory of DuckDB follow', () => {
  const gigabyte = 1e9;
  expect([0.25, 0.5, 1, 4, 64].map((memory) => threadsOf({ cores: 8, memoryBytes: memory * gigabyte }))).toEqual([
    1, 1, 5, 8, 8,
  ]);
  expect(
    [0.1, 0.5, 2, 4, 64].map((memory) => duckdbMemory('1GB', { cores: 8, memoryBytes: memory * gigabyte })),
  ).toEqual(['64MB', '125MB', '500MB', '1000MB', '1000MB']);
  expect(duckdbMemory('256MB', { cores: 8, memoryBytes: 64e9 })).toBe('256MB');
});
