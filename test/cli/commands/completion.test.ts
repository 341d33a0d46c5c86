import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.js';
import { namingOptions } from '../../../src/cli/completion/words.js';
import { builtCommand } from '../../app/built-command.js';
import { temporaryFolder } from '../../app/lake-run.js';

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

  test('commands, options, choices, pipelines, accounts, files and folders', async () => {
    const ledgerlake = (...words: string[]) => ['ledgerlake', ...words];
    const cases: [string[], string[]][] = [
      [ledgerlake(''), commands.map(({ name }) => name)],
      [ledgerlake('ba'), ['backfill']],
      [ledgerlake('--ver'), ['--verbose', '--version']],
      [ledgerlake('backfill', '--acc'), ['--account', '--accept-empty']],
      [ledgerlake('backfill', 'financial-events', 'or'), ['order-events']],
      [ledgerlake('backfill', '--account', ''), ['shop-a', 'shop-b']],
      [ledgerlake('backfill', '--config', 'other.json', '--account', ''), ['elsewhere']],
      [ledgerlake('backfill', '--account', '=', 'shop-b'), ['shop-b']],
      [ledgerlake('--lake', 'sql', 'verify', '--format', ''), ['table', 'json', 'csv', 'csv-safe', 'ndjson']],
      [ledgerlake('sql', '--format', '='), ['table', 'json', 'csv', 'csv-safe', 'ndjson']],
      [ledgerlake('sql', '--lake', ''), ['bin', 'data']],
      [ledgerlake('backfill', '--orders', 'or'), ['order ids.txt']],
      [ledgerlake('import', 'or'), ['order ids.txt']],
      [ledgerlake('backfill', '--from', ''), []],
      [ledgerlake('accounts', ''), ['check', 'shop-a', 'shop-b']],
      [ledgerlake('accounts', 'check', 'shop-b'), ['shop-b']],
      [ledgerlake('completion', 'f'), ['fish']],
      [ledgerlake('nonsense', ''), []],
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
    expect(ran).toMatchObject({ status: 0, stdout: '_ledgerlake\n', stderr: '' });
  });
});

describe.runIf(has('fish'))('fish', () => {
  test.each([
    ['backfill --account ', ['shop-a', 'shop-b']],
    ['sql --format ', ['csv', 'csv-safe', 'json', 'ndjson', 'table']],
    ['backfill financial-events or', ['order-events']],
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

test('the scripts of all shells know every command and option', async () => {
  const folder = await temporaryFolder();
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await builtCommand(['completion'], { folder, environment: { SHELL: `/bin/${shell}` } });
    expect(code).toBe(0);
    expect(out).toContain(`ledgerlake completion ${shell}`);
    for (const { name, options } of commands) {
      expect(out).toContain(name);
      for (const option of Object.keys(options))
        expect(out).toContain(shell === 'fish' ? `-l ${option}` : `--${option}`);
    }
  }
});

test('a shell that is none is the user’s mistake', async () => {
  const ended = await builtCommand(['completion', 'cmd'], { folder: await temporaryFolder() });
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toMatch(/^ledgerlake: expected a shell \(bash, zsh, fish\), got "cmd".*\n$/);
});

test('accounts are names, and never more; a configuration that can’t be read has none', async () => {
  const folder = await completionFolder();
  const asked = await builtCommand(['completion', 'accounts'], { folder });
  expect(asked).toMatchObject({ code: 0, out: 'shop-a\nshop-b\n', err: '' });
  await writeFile(join(folder, 'ledgerlake.config.json'), '{"accounts":');
  expect(await builtCommand(['completion', 'accounts'], { folder })).toMatchObject({ code: 0, out: '', err: '' });
});

test('what completes an option’s value is an option', () => {
  const options = new Set(commands.flatMap((command) => Object.keys(command.options)));
  for (const name of Object.keys(namingOptions)) expect(options).toContain(name);
});
