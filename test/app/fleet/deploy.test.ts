import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { commands } from '../../../src/cli/commands.js';
import { parseConfiguration } from '../../../src/app/configuration/configuration.js';
import { fleetKeys } from '../../../src/app/fleet/redis.js';
import { version } from '../../../src/core/version.js';
import { createRunMetrics } from '../../../src/observe/metrics/run-metrics.js';
import { systemClock } from '../../../src/core/clock.js';
import { builtCommand } from '../built-command.js';
import { temporaryFolder } from '../lake-run.js';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

interface Pod {
  readonly automountServiceAccountToken?: boolean;
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly containers: readonly Container[];
  readonly terminationGracePeriodSeconds?: number;
}

interface Rule {
  readonly from?: readonly unknown[];
  readonly to?: readonly { readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] } }[];
  readonly ports: readonly { readonly port: number }[];
}

interface Manifest {
  readonly kind: string;
  readonly resources?: readonly string[];
  readonly images?: readonly { readonly name: string; readonly newTag?: string; readonly digest?: string }[];
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly metadata: { readonly labels: { readonly app: string } }; readonly spec: Pod };
    readonly podSelector?: { readonly matchLabels: { readonly app: string } };
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly Rule[];
    readonly egress?: readonly Rule[];
    readonly scaleTargetRef?: { readonly name: string };
    readonly triggers?: readonly { readonly metadata: { readonly listName: string; readonly listLength: string } }[];
  };
}

/** What isn't for Kubernetes. */
const others = ['alerts.yaml', 'compose.yaml'];

async function manifests(): Promise<Manifest[]> {
  const files = (await readdir('deploy')).filter((name) => name.endsWith('.yaml') && !others.includes(name));
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
  all
    .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
    .filter(({ image }) => image === `ledgerlake:${version}`);

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
  const text = await readFile('deploy/Dockerfile', 'utf8');
  const copied = [...text.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  expect(copied).toContain('package.json');
  for (const path of copied) await expect(access(path)).resolves.toBeUndefined();
  expect(text).toContain('ENTRYPOINT ["node", "/ledgerlake/dist/src/cli.js"]');
  const { code, out } = await builtCommand(['--version'], { folder: await temporaryFolder() });
  expect([code, out]).toEqual([0, `${version}\n`]);
});

test('no pod has rights that it does not need', async () => {
  const pods = (await manifests()).flatMap(({ spec }) => spec?.template?.spec ?? []);
  expect(pods).toHaveLength(3);
  for (const pod of pods) {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod.securityContext?.['runAsUser']).toBeGreaterThan(0);
    for (const { securityContext, volumeMounts, image, env = [] } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      // What is written: temporary files, the cache, and Redis's data.
      const written = volumeMounts.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath);
      expect(written.toSorted()).toEqual(image.includes('valkey') ? ['/data', '/tmp'] : ['/cache', '/tmp']);
      if (image.includes('valkey')) continue;
      // Whatever the image says.
      const folders = ['TMPDIR', 'XDG_CACHE_HOME'].map((name) => env.find((one) => one.name === name)?.value);
      expect(folders).toEqual(['/tmp', '/cache']);
    }
  }
});

test('the image has a cache and a temporary folder that every user may write to', async () => {
  const text = await readFile('deploy/Dockerfile', 'utf8');
  const [, folder] = /^ENV TMPDIR=\/tmp XDG_CACHE_HOME=(\S+)$/m.exec(text) ?? [];
  expect(text).toMatch(new RegExp(`^RUN install -d -m 1777 ${folder ?? 'none'}$`, 'm'));
  expect(text.indexOf('RUN install')).toBeLessThan(text.indexOf('\nUSER '));
});

test('workers reach what gives a pod its credentials, by these addresses alone, and the port of each endpoint', async () => {
  const all = await manifests();
  const policy = all.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'ledgerlake-worker');
  const egress = policy?.spec?.egress ?? [];
  const blocksAt = (port: number) =>
    egress
      .filter((rule) => rule.ports.some((one) => one.port === port))
      .flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
  // The agent of EKS Pod Identity, and instance metadata: by IPv4 and by IPv6.
  const addresses = ['169.254.170.23/32', '169.254.169.254/32', 'fd00:ec2::23/128', 'fd00:ec2::254/128'];
  expect(blocksAt(80).map(({ cidr }) => cidr)).toEqual(addresses);
  expect(blocksAt(443)).toEqual([
    { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] },
    { cidr: '::/0', except: ['fd00:ec2::/32'] },
  ]);
  const texts = own(all).flatMap(({ env = [] }) => env.map(({ value = '' }) => value));
  for (const { data = {} } of all) texts.push(...Object.values(data));
  const ports = texts.flatMap((text) =>
    [...text.matchAll(/https?:\/\/[\w.-]+:(\d+)/g)].map(([, port]) => Number(port)),
  );
  for (const port of ports) expect(egress.flatMap((rule) => rule.ports.map((one) => one.port))).toContain(port);
  // The page about fleets has the way to allow another one.
  const page = await readFile('docs/fleet.md', 'utf8');
  const [, patch = ''] = /--name ledgerlake-worker --patch '(.*?)'\n/su.exec(page) ?? [];
  expect(JSON.parse(patch)).toEqual([
    {
      op: 'add',
      path: '/spec/egress/-',
      value: { to: [expect.anything()], ports: [{ protocol: 'TCP', port: expect.any(Number) as number }] },
    },
  ]);
});

test('a network policy for each pod lets in and out what it needs alone', async () => {
  const all = await manifests();
  const policies = new Map(
    all.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => [spec?.podSelector?.matchLabels.app, spec]),
  );
  const apps = all.flatMap(({ spec }) => spec?.template?.metadata.labels.app ?? []);
  expect([...policies.keys()].toSorted()).toEqual(apps.toSorted());
  const ports = (rules: readonly Rule[] = []) => rules.flatMap((rule) => rule.ports.map(({ port }) => port));
  for (const policy of policies.values()) {
    expect(policy?.policyTypes).toEqual(['Ingress', 'Egress']);
    // A rule without an end is one for everybody.
    for (const rule of policy?.ingress ?? []) expect(rule.from?.length).toBeGreaterThan(0);
    for (const rule of policy?.egress ?? []) expect(rule.to?.length).toBeGreaterThan(0);
  }
  const [worker, enqueue, redis] = ['worker', 'enqueue', 'redis'].map((name) => policies.get(`ledgerlake-${name}`));
  expect([ports(worker?.ingress), ports(worker?.egress)]).toEqual([[9464], [53, 53, 6379, 443, 80]]);
  expect([ports(enqueue?.ingress), ports(enqueue?.egress)]).toEqual([[], [53, 53, 6379]]);
  expect([ports(redis?.ingress), ports(redis?.egress)]).toEqual([[6379], []]);
  expect(own(all).flatMap(({ ports: open = [] }) => open.map(({ containerPort }) => containerPort))).toEqual([9464]);
});

test('each image has a pinned tag, and a place for its digest', async () => {
  const all = await manifests();
  const kustomization = all.find(({ kind }) => kind === 'Kustomization');
  const files = (await readdir('deploy')).filter(
    (name) => name.endsWith('.yaml') && ![...others, 'kustomization.yaml'].includes(name),
  );
  expect(kustomization?.resources?.toSorted()).toEqual(files.toSorted());
  const images = all.flatMap(({ spec }) => spec?.template?.spec.containers ?? []).map(({ image }) => image);
  const pinned = kustomization?.images?.map(({ name, newTag }) => `${name}:${newTag ?? ''}`);
  expect([...new Set(images)].toSorted()).toEqual(pinned?.toSorted());
  for (const image of images) expect(image).toMatch(/:\d+\.\d+(\.\d+)?$/);
  const containerfile = await readFile('deploy/Dockerfile', 'utf8');
  expect(containerfile.match(/^FROM .*$/gm)).toEqual(['FROM ${NODE} AS build', 'FROM ${NODE}']);
  expect(containerfile).toMatch(/^USER \d+:\d+$/m);
});

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
}

test('the composed fleet has commands, options and a configuration that there are', async () => {
  const compose = parse(await readFile('deploy/compose.yaml', 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly configs: Readonly<Record<string, { readonly content: string }>>;
  };
  // `content` of a configuration came with this version.
  expect(await readFile('deploy/compose.yaml', 'utf8')).toContain('Docker Compose 2.23.1 or later');
  const services = Object.entries(compose.services);
  const ours = services.filter(([, { image }]) => image === `ledgerlake:${version}`);
  expect(ours.map(([name]) => name)).toEqual(['emulator', 'worker', 'enqueue']);
  for (const [, { command = [], environment, depends_on: needs = {} }] of ours) {
    const known = commands.find(({ name }) => name === command[0]);
    expect(known?.name).toBe(command[0]);
    for (const word of command.filter((text) => text.startsWith('--'))) {
      expect(Object.keys(known?.options ?? {})).toContain(word.slice(2));
    }
    expect(environment).toMatchObject({ REDIS_URL: 'redis://redis:6379', AWS_ENDPOINT_URL_S3: 'http://s3:9000' });
    for (const name of Object.keys(needs)) expect(Object.keys(compose.services)).toContain(name);
  }
  for (const [, { image }] of services) expect(image).toMatch(/:[\w.-]+\d$|Z$/);
  const text = compose.configs['ledgerlake']?.content ?? '';
  const { accounts } = parseConfiguration(Buffer.from(text), 'compose', '/');
  expect([...accounts.keys()]).toEqual(['north', 'south']);
});

test('alerts and the dashboard name metrics that there are', async () => {
  const recorder = createRunMetrics(systemClock);
  recorder.emit({ event: 'worker-started', fleet: 'ledgerlake', redis: 'redis://redis', concurrency: 1 });
  const text = await recorder.text();
  const metrics = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  expect(metrics.length).toBeGreaterThan(20);
  const rules = parse(await readFile('deploy/alerts.yaml', 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
  };
  const dashboard = JSON.parse(await readFile('deploy/grafana.json', 'utf8')) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  const queries = [
    ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  expect(queries.length).toBeGreaterThan(15);
  for (const query of queries) {
    const named = query.match(/ledgerlake_\w+/g) ?? [];
    expect(named.length, query).toBeGreaterThan(0);
    for (const name of named) expect(metrics, query).toContain(name);
  }
});

test('the workflow runs the gate on each Node that is supported', async () => {
  const text = await readFile('.github/workflows/test.yaml', 'utf8');
  expect(text).toContain('bash .ci/run');
  expect(text).toContain('node: [20, 22, 24]');
});
