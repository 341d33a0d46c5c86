import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.js';
import { builtCommand } from '../app/built-command.js';
import { temporaryFolder } from '../app/lake-run.js';

/** Whether a shell is on this machine; where it isn't, its tests are skipped, and say so. */
function has(shell: string): boolean {
  return spawnSync(shell, ['-c', 'exit 0']).status === 0;
}

/** A folder with a configuration, some files, and the command under its name. */
async function completionFolder(): Promise<string> {
  const folder = await temporaryFolder();
  const config = `{ // two shops\n"accounts": { "shop-b": { "clientSecret": "hush" }, "shop-a": {}, "$(x)": {} } }`;
  await writeFile(join(folder, 'ledgerlake.config.json'), config);
  await writeFile(join(folder, 'other.json'), '{"accounts":{"elsewhere":{}}}');
  await writeFile(join(folder, 'order ids.txt'), '');
  await mkdir(join(folder, 'data'));
  await mkdir(join(folder, 'bin'));
  symlinkSync(resolve('dist/src/cli.js'), join(folder, 'bin/ledgerlake'));
  return folder;
}

function environment(folder: string): Record<string, string> {
  return { HOME: folder, PATH: [join(folder, 'bin'), process.env['PATH'] ?? ''].join(delimiter) };
}

test.each(['bash', 'zsh'])('the script for %s says how it is printed', async (shell) => {
  const { out } = await builtCommand(['completion', shell], { folder: await temporaryFolder() });
  expect(out).toContain(`# Installation: ledgerlake completion ${shell} >> ~/.`);
});

describe.runIf(has('bash'))('bash completes', () => {
  /** What Tab offers behind each of the words: in one bash, as each takes a moment. */
  async function offered(lines: readonly (readonly string[])[]): Promise<string[][]> {
    const folder = await completionFolder();
    const asks = lines.map((words) => {
      const array = words.map((word) => `'${word}'`).join(' ');
      return `COMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; $function; printf '%s\\n' "\${COMPREPLY[@]}" =;`;
    });
    const script = [
      'source <(ledgerlake completion bash)',
      'function=$(complete -p ledgerlake); function=${function#*-F }; function=${function%% *}',
      ...asks,
    ].join('\n');
    const printed = execFileSync('bash', ['-c', script], { cwd: folder, env: environment(folder), encoding: 'utf8' });
    return printed
      .split('=\n')
      .slice(0, -1)
      .map((text) => text.trim().split('\n').filter(Boolean));
  }

  test('commands, options, choices, pipelines and accounts, and leaves files to bash', async () => {
    const ledgerlake = (...words: string[]) => ['ledgerlake', ...words];
    const cases: [string[], string[]][] = [
      [ledgerlake(''), commands.map(({ name }) => name)],
      [ledgerlake('ba'), ['backfill', 'backup']],
      [ledgerlake('--ver'), ['--verbose', '--version']],
      [ledgerlake('backfill', '--acc'), ['--account', '--accept-empty']],
      [ledgerlake('backfill', 'or'), ['order-events', 'order-transactions']],
      [ledgerlake('backfill', '--account', ''), ['shop-a', 'shop-b']],
      [ledgerlake('backfill', '--account', 'shop-b'), ['shop-b']],
      [ledgerlake('backfill', '--config', 'other.json', '--account', ''), ['elsewhere']],
      [ledgerlake('verify', '--format', ''), ['table', 'vertical', 'json', 'csv', 'csv-safe', 'ndjson']],
      [ledgerlake('accounts', 'sho'), ['shop-a', 'shop-b']],
      [ledgerlake('accounts', 'check', 'sh'), ['shop-a', 'shop-b']],
      [ledgerlake('accounts', 'check', 'shop-a', 'sh'), ['shop-b']],
      [ledgerlake('backfill', 'financial-events', '--refresh', 'tr'), ['transactions']],
      [ledgerlake('verify', '--format', '=', 'js'), ['json']],
      [ledgerlake('enqueue', 'sta'), ['status']],
      [ledgerlake('enqueue', 'retry', 'sh'), ['shop-a', 'shop-b']],
      [ledgerlake('completion', 'f'), ['fish']],
      // Nothing: bash completes the names of files and folders then.
      [ledgerlake('sql', '--lake', ''), []],
      [ledgerlake('backfill', '--orders', 'or'), []],
      [ledgerlake('import', ''), []],
      [ledgerlake('nonsense', 'x'), []],
    ];
    const answers = await offered(cases.map(([words]) => words));
    expect(answers).toHaveLength(cases.length);
    for (const [at, [words, expected]] of cases.entries()) {
      expect([words, answers[at]?.toSorted()]).toEqual([words, expected.toSorted()]);
    }
  });
});

describe.runIf(has('zsh'))('zsh', () => {
  test('takes the script', async () => {
    const folder = await completionFolder();
    const script = 'autoload -U compinit; compinit -D; source <(ledgerlake completion zsh); print $_comps[ledgerlake]';
    const ran = spawnSync('zsh', ['-fc', script], { cwd: folder, env: environment(folder), encoding: 'utf8' });
    expect(ran).toMatchObject({ status: 0, stdout: '_ledgerlake_yargs_completions\n', stderr: '' });
  });
});

describe.runIf(has('fish'))('fish', () => {
  test.each([
    ['backfill --account ', ['shop-a', 'shop-b']],
    ['sql --format ', ['csv', 'csv-safe', 'json', 'ndjson', 'table', 'vertical']],
    ['backfill or', ['order-events', 'order-transactions']],
  ])('completes %s', async (line, expected) => {
    const folder = await completionFolder();
    const script = `ledgerlake completion fish | source; complete -C 'ledgerlake ${line}'`;
    const ran = spawnSync('fish', ['-Nc', script], { cwd: folder, env: environment(folder), encoding: 'utf8' });
    expect(ran.status).toBe(0);
    expect(
      ran.stdout
        .trimEnd()
        .split('\n')
        .map((text) => text.split('\t')[0]),
    ).toEqual(expected);
  });
});

test.each(['bash', 'zsh', 'fish'])('the script of %s asks the command itself', async (shell) => {
  const folder = await temporaryFolder();
  const { code, out } = await builtCommand(['completion'], { folder, environment: { SHELL: `/bin/${shell}` } });
  expect(code).toBe(0);
  expect(out).toContain('ledgerlake --get-yargs-completions');
  expect(await builtCommand(['completion', shell], { folder, environment: { SHELL: '/bin/sh' } })).toMatchObject({
    out,
  });
});

test('zsh and fish get a line with what each is, whatever the login shell', async () => {
  const folder = await completionFolder();
  const asked = (words: string[], environment: Record<string, string>) =>
    builtCommand(['--get-yargs-completions', ...words], {
      folder,
      environment: { SHELL: '/bin/bash', ...environment },
    });
  const zsh = await asked(['ledgerlake', 'back'], { COMP_LINE: 'ledgerlake back' });
  expect(zsh.out).toContain('backfill:Load');
  const fish = await asked(['backfill', '--re'], {});
  expect(fish.out).toContain('--refresh\t');
});

test('asking for completions runs no command', async () => {
  const folder = await temporaryFolder();
  const ended = await builtCommand(['--get-yargs-completions', 'ledgerlake', 'init', ''], { folder });
  expect(ended.code).toBe(0);
  expect(await readdir(folder)).toEqual([]);
});

test('a shell that is none is the user’s mistake', async () => {
  const ended = await builtCommand(['completion', 'cmd'], { folder: await temporaryFolder() });
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toMatch(/^ledgerlake: USAGE: expected a shell \(bash, zsh, fish\), got "cmd".*\n$/);
});

test('a configuration that can’t be read has no accounts, and nothing of it is shown', async () => {
  const folder = await completionFolder();
  const words = ['--get-yargs-completions', 'ledgerlake', 'backfill', '--account', ''];
  expect(await builtCommand(words, { folder })).toMatchObject({ code: 0, out: 'shop-a\nshop-b\n', err: '' });
  await writeFile(join(folder, 'ledgerlake.config.json'), '{"accounts":');
  const broken = await builtCommand(words, { folder });
  expect(broken).toMatchObject({ code: 0, err: '' });
  expect(broken.out).not.toContain('shop');
});
