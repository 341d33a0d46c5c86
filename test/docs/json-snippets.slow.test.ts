import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../app/lake-run.js';
import { backfill } from '../../src/index.js';
import { from, servedShop } from '../library/served.js';
import { exampleServer } from '../sources/custom/example-server.js';

const run = promisify(execFile);
const hasPython = await run('python3', ['--version']).then(
  () => true,
  () => false,
);

/** The first code of a language behind a heading of docs/json.md, at work in another folder. */
async function snippet(heading: string, language: string, folder: string): Promise<string> {
  const page = await readFile('docs/json.md', 'utf8');
  const section = page.slice(page.indexOf(`\n## ${heading}\n`));
  const [, code = ''] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(section) ?? [];
  expect(code).toContain('/srv/ledgerlake');
  return code.replaceAll('/srv/ledgerlake', folder);
}

/** What the schedulers' own packages do with the snippets; the packages themselves are no part of the tests. */
const stands = {
  // BashOperator runs the command with bash in `cwd`, and passes the last line of its output on.
  'airflow/providers/standard/operators/bash.py': `
import subprocess
class BashOperator:
    def __init__(self, task_id, bash_command, cwd, output_processor, retries, retry_delay, max_active_tis_per_dag):
        self.command, self.cwd, self.output_processor = bash_command, cwd, output_processor
    def execute(self):
        run = subprocess.run(["bash", "-c", self.command], cwd=self.cwd, stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"Bash command failed: {run.returncode}")
        return self.output_processor(run.stdout.rstrip("\\n").split("\\n")[-1])
`,
  'dagster.py': `
class Failure(Exception):
    def __init__(self, description, metadata=None, allow_retries=True):
        super().__init__(description)
        self.metadata, self.allow_retries = metadata, allow_retries
class AssetExecutionContext: pass
class MaterializeResult:
    def __init__(self, metadata): self.metadata = metadata
def asset(function): return function
`,
};

/** A folder with a configured account, whose lake has a day, where the program and `npx` start the built command, and the schedulers' stands. */
async function scheduled() {
  const shop = await servedShop();
  const { endpoint, lake } = shop;
  await backfill({ ...shop, account: 'my-shop', from, to: new Date(from.getTime() + 86_400_000) });
  const folder = await temporaryFolder();
  const settings = { lake, rate: 1000, burst: 1000 };
  const configuration = (address: string) =>
    writeFile(
      join(folder, 'ledgerlake.config.json'),
      JSON.stringify({ settings, accounts: { 'my-shop': { endpoint: address } } }),
    );
  await configuration(endpoint);
  const program = join(folder, 'node_modules/.bin/ledgerlake');
  const npx = join(folder, 'bin/npx');
  for (const [file, more] of [
    [program, ''],
    [npx, 'shift\n'],
  ] as const) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${more}exec '${process.execPath}' '${resolve('dist/src/cli.js')}' "$@"\n`);
    await chmod(file, 0o755);
  }
  for (const [file, text] of Object.entries(stands)) {
    await mkdir(join(folder, 'python', file, '..'), { recursive: true });
    await writeFile(join(folder, 'python', file), text);
  }
  const env = {
    PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    PYTHONPATH: join(folder, 'python'),
  };
  const python = async (code: string): Promise<unknown> => {
    const { stdout } = await run('python3', ['-c', code], { env, maxBuffer: 1e8 });
    return JSON.parse(stdout);
  };
  return { folder, env, python, configuration, program };
}

test.skipIf(!hasPython)("Airflow's task ends with the summary", async () => {
  const { folder, python } = await scheduled();
  const code = `${await snippet('Airflow', 'python', folder)}\nprint(json.dumps(sync.execute()))`;
  expect(await python(code)).toMatchObject({
    status: 'done',
    account: 'my-shop',
    lag_seconds: expect.any(Number) as number,
  });
});

test.skipIf(!hasPython)(
  "Dagster's asset has events and lag, and fails with the code, for good where the configuration is wrong",
  async () => {
    const { folder, python, configuration, program } = await scheduled();
    const code = `${await snippet('Dagster', 'python', folder)}
try:
    print(json.dumps(ledger(None).metadata))
except dg.Failure as failure:
    print(json.dumps({"failed": str(failure), "metadata": failure.metadata, "retries": failure.allow_retries}))`;
    const { events, lag_seconds: lag } = (await python(code)) as { events: number; lag_seconds: number };
    expect(events).toBeGreaterThan(10);
    expect(lag).toBeGreaterThan(0);
    const denying = await exampleServer(() => ({ status: 403, body: { errors: [{ code: 'Unauthorized' }] } }));
    await configuration(denying.url);
    expect(await python(code)).toMatchObject({
      metadata: { code: expect.stringMatching(/^UPSTREAM/) as string },
      retries: true,
    });
    await configuration('nowhere');
    expect(await python(code)).toMatchObject({ metadata: null, retries: false });
    await writeFile(program, '#!/bin/sh\nkill -9 $$\n');
    expect(await python(code)).toMatchObject({
      failed: expect.stringContaining('exit code -9') as string,
      retries: true,
    });
  },
);

test("cron's line keeps the object of each night", async () => {
  const { folder, env } = await scheduled();
  const [, command = ''] = /^30 3 \* \* \* (.*)$/m.exec(await snippet('cron', 'cron', folder)) ?? [];
  await run('sh', ['-c', command], { env });
  await run('sh', ['-c', command], { env });
  const nights = (await readFile(join(folder, 'nights.ndjson'), 'utf8')).trimEnd().split('\n');
  expect(nights.map((line) => JSON.parse(line) as object)).toMatchObject([{ status: 'done' }, { status: 'done' }]);
});
