import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { builtModule } from './built-module.js';

/** Runs calls of the built module, and tells after each whether V8 compiles a function as soon as it is called. */
async function isTuned(...calls: readonly string[]): Promise<readonly boolean[]> {
  const module = JSON.stringify(await builtModule('src/core/v8-flags.ts'));
  const program = `
    const flags = await import(${module});
    const found = [];
    for (const call of ${JSON.stringify(calls)}) {
      flags[call]();
      // V8 compiles the same text once.
      const called = new Function('return ' + found.length);
      called();
      found.push(%ActiveTierIsSparkplug(called));
    }
    console.log(JSON.stringify(found));`;
  const words = ['--allow-natives-syntax', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return JSON.parse(stdout) as boolean[];
}

test('V8 is set up in a process of the command line, and not in one that uses the library', async () => {
  expect(await isTuned('limitHeapGrowth', 'tuneForComputation', 'tuneForComputation')).toEqual([false, true, true]);
  expect(await isTuned('tuneForComputation', 'limitHeapGrowth')).toEqual([false, false]);
});
