import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { commands } from '../../../src/cli/commands.js';
import { parseConfiguration } from '../../../src/app/configuration/configuration.js';
import { fleetKeys } from '../../../src/app/fleet/fleet-keys.js';
import { version } from '../../../src/core/version.js';
import { builtCommand } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: {
      readonly spec: { readonly containers: readonly Container[]; readonly terminationGracePeriodSeconds?: number };
    };
    readonly scaleTargetRef?: { readonly name: string };
    readonly triggers?: readonly { readonly metadata: { readonly listName: string; readonly listLength: string } }[];
  };
}

async function manifests(): Promise<Manifest[]> {
  const files = (await readdir('deploy')).filter((name) => name.endsWith('.yaml'));
  const all: Manifest[] = [];
  for (const file of files) {
    for (const document of parseAllDocuments(await readFile(join('deploy', file), 'utf8'))) {
      expect(document.errors, file).toEqual([]);
      all.push(document.toJS() as Manifest);
    }
  }
  return all;
}

const own = (all: readonly Manifest[]): Container[] =>
  all.flatMap(({ spec }) => spec?.template?.spec.containers ?? []).filter(({ image }) => image === 'ledgerlake');

test('manifests name commands and options that there are', async () => {
  const containers = own(await manifests());
  expect(containers.map(({ name }) => name).toSorted()).toEqual(['enqueue', 'worker']);
  for (const { args = [] } of containers) {
    const [name, ...rest] = args;
    const command = commands.find((known) => known.name === name);
    const known = [...Object.keys(command?.options ?? {}), 'log-format'];
    for (const word of rest.filter((text) => text.startsWith('--'))) expect(known).toContain(word.slice(2));
  }
});

test('workers have longer to end than they are told to take', async () => {
  const deployment = (await manifests()).find(({ kind }) => kind === 'Deployment');
  const { containers = [], terminationGracePeriodSeconds = 30 } = deployment?.spec?.template?.spec ?? {};
  const args = containers.flatMap(({ args: words = [] }) => words);
  const grace = Number(args[args.indexOf('--grace') + 1]?.replace(/s$/, ''));
  expect(grace).toBeGreaterThan(30);
  expect(terminationGracePeriodSeconds).toBeGreaterThan(grace);
});

test('what they are scaled by is the queue of the fleet that they are', async () => {
  const all = await manifests();
  const scaled = all.find(({ kind }) => kind === 'ScaledObject')?.spec;
  expect(all.find(({ kind }) => kind === 'Deployment')?.metadata.name).toBe(scaled?.scaleTargetRef?.name);
  const { prefix } = fleetKeys('ledgerlake');
  expect(scaled?.triggers?.map(({ metadata }) => metadata.listName)).toEqual([
    `${prefix}:turns:prioritized`,
    `${prefix}:turns:active`,
  ]);
});

test('the configuration is one, and secrets are named only', async () => {
  const text = (await manifests()).find(({ data }) => data?.['ledgerlake.config.json'] !== undefined)?.data?.[
    'ledgerlake.config.json'
  ];
  const { accounts } = parseConfiguration(Buffer.from(text ?? ''), 'deploy', '/');
  expect([...accounts.keys()]).toEqual(['my-shop']);
  expect((await manifests()).map(({ kind }) => kind)).not.toContain('Secret');
});

test("the image's files are there, and its entry point starts", async () => {
  const text = await readFile('deploy/Containerfile', 'utf8');
  const copied = [...text.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  expect(copied).toContain('package.json');
  for (const path of copied) await expect(access(path)).resolves.toBeUndefined();
  expect(text).toContain('ENTRYPOINT ["node", "/ledgerlake/dist/src/cli.js"]');
  const { code, out } = await builtCommand(['--version'], { folder: await temporaryFolder() });
  expect([code, out]).toEqual([0, `${version}\n`]);
});
