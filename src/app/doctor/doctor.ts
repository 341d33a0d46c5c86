import { isoInstant } from '../../core/numeric/instant.js';
import { formatCount, formatSpan } from '../../core/text/amounts.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import type { ResultColumn } from '../../core/text/rows.js';
import { proseWidth, writeText } from '../../core/text/sink.js';
import { wrapWords } from '../../core/text/width.js';
import { groupBy } from '../../core/group-by.js';
import { printable } from '../../core/printable.js';
import { version } from '../../core/version.js';
import { paintIn, type Paint } from '../../observe/live-view/view-lines.js';
import { supported } from '../../lake/catalog/commit.js';
import type { Lake } from '../../lake/lake.js';
import { openStore } from '../../lake/store/open-store.js';
import { withCommandsIn, type CommandScope } from '../command-text.js';
import { demoAccount, readAccount } from '../configuration/account.js';
import { listedAccounts } from '../configuration/account-settings.js';
import { configuredAccounts } from '../configuration/configured-accounts.js';
import { rangeMarginMs } from '../configuration/range.js';
import { resolveSettings, type SettingSources } from '../configuration/settings.js';
import type { ReadingContext, RunContext } from '../context.js';
import { readMaxLag } from '../load/freshness.js';
import type { DoctorFinding, DoctorReport, DoctorState } from '../results.js';
import { examineConfiguration, examineMetricsFile, type ExaminedSettings } from './configuration-findings.js';
import { examineCredentials } from './credential-findings.js';
import { examineDisk } from './disk-findings.js';
import { examined, type AddFinding } from './findings.js';
import { examineCatalog, examineFiles, examineLake } from './lake-findings.js';
import { examineStore } from './store-findings.js';

/** What is examined. `texts`: the options of the command line by name. */
export interface Examination extends SettingSources {
  /** Undefined: those that are configured, and those of the lake. */
  readonly account: string | undefined;
}

interface DoctorCommand extends Examination {
  readonly format: Format;
  /** Whether the states are coloured. */
  readonly color: boolean;
}

/** The age of data that is a fault, without `--max-lag`. */
const usualMaxLag = '2d';

const columns: readonly ResultColumn[] = ['group', 'account', 'state', 'found', 'command'].map((name) => ({
  name,
  kind: 'text',
}));

/**
 * `ledgerlake doctor`: examines all that a night needs, and writes what was found, and what mends it. Returns the exit code: 1
 * where something must be done.
 *
 * `table` is for people, `json` is a `DoctorReport`; the other formats have a row for each finding.
 *
 * @throws LedgerlakeError USAGE for an invalid option; the signal's reason
 */
export async function doctor(options: DoctorCommand, context: ReadingContext): Promise<0 | 1> {
  const { output } = context;
  const report = await examine(options, context);
  if (options.format === 'json') await writeText(output, [`${JSON.stringify(report, undefined, 2)}\n`]);
  else if (options.format === 'table') {
    const lines = findingLines(report, proseWidth(output), paintIn(options.color));
    await writeText(output, [`${lines.join('\n')}\n`], { isColoured: options.color });
  } else {
    const rows = report.findings.map((finding) => [
      finding.group,
      finding.account,
      finding.state,
      finding.found,
      finding.command,
    ]);
    await writeRows(output, options.format, columns, chunksOf(rows));
  }
  return report.state === 'fault' ? 1 : 0;
}

/**
 * Examines all that a night needs. An examination that fails is a finding, and doesn't stop the others; each may take half a
 * minute. Nothing is changed.
 *
 * @throws as {@link doctor}
 */
export async function examine(options: Examination, context: RunContext): Promise<DoctorReport> {
  const { texts, environment, workingFolder, account } = options;
  const { clock } = context;
  const unconfigured = { file: undefined, folder: workingFolder, settings: {}, accounts: new Map<string, never>() };
  // An option that is wrong is no finding.
  const optionsAlone = resolveSettings(texts, {}, unconfigured);

  const configuration = await examined('configuration', context, (add) => examineConfiguration(options, add));
  const known: ExaminedSettings = configuration.result ?? {
    texts,
    environment,
    configuration: unconfigured,
    isValid: false,
    settings: optionsAlone,
    customPipelines: [],
    metricsFile: undefined,
  };
  const accounts = account === undefined ? listedAccounts(known.configuration, known.environment) : [account];
  if (known.isValid && accounts.length === 0) readAccount(undefined, texts['endpoint']);
  const metrics = await examined('configuration', context, () =>
    examineMetricsFile(known, accounts.length === 0 ? [demoAccount] : accounts),
  );
  const { settings } = known;
  const { encryption, lake: location, marginMinutes } = settings;
  const maxLagMs = readMaxLag(texts['max-lag'] ?? usualMaxLag, marginMinutes) ?? Infinity;
  const [config, endpoint] = [texts['config'], texts['endpoint']];

  const store = await examined('store', context, (add) =>
    examineStore(openStore(location, { clock, encryption }), clock, add),
  );
  const lake = await examined('lake', context, (add) => {
    const range = { from: undefined, to: undefined, marginMinutes };
    const age = { maxLagMs, mustExist: texts['max-lag'] !== undefined };
    const query = { lake: location, account, config, pipelineFolder: texts['pipelines'], ...range, ...age };
    return examineLake({ ...query, ...configuredAccounts(known, known.configuration) }, clock, add);
  });
  const catalog = await examined('lake', context, (add) => examineCatalog(lake.result?.report, config, add), {
    late: {
      state: 'warning',
      found: 'the chain of commits was not examined to its end, which takes too long here; `ledgerlake verify` does so',
    },
  });

  const files = await examined('lake', context, (add) => examineFiles(lake.result?.report, config, add), {
    late: {
      state: 'warning',
      found: 'the data files were not all listed, which takes too long here; `ledgerlake verify` does so',
    },
  });

  const skews: number[] = store.result === undefined ? [] : [store.result];
  const onClock = (skewMs: number) => {
    skews.push(skewMs);
  };
  const credentials = await Promise.all(
    accounts.map((account) =>
      examined(
        'credentials',
        context,
        (add, signal) => {
          const examination = { ...known, account, endpoint, lake: lake.result?.lake, onClock };
          return examineCredentials(examination, { ...context, signal }, add);
        },
        { account },
      ),
    ),
  );
  const { findings: others } = await examined('credentials', context, (add) => {
    if (!known.isValid) add({ state: 'warning', found: 'no account is examined, as the configuration is invalid' });
    else if (accounts.length === 0) {
      add({ state: 'ok', found: 'no account is configured; the embedded service serves a synthetic one' });
    }
    return Promise.resolve();
  });
  const clocks = await examined('clock', context, (add) => {
    examineClock(skews, add);
    return Promise.resolve();
  });
  const disk = await examined('disk', context, (add) => examineDisk(settings, accounts, add));
  const versions = await examined('versions', context, (add) => examineVersions(lake.result?.lake, add));

  // A damaged checkpoint is a warning of opening the lake, too.
  const isReported = ({ found }: DoctorFinding) =>
    catalog.result?.some((file) => found.includes(`checkpoint ${file} `)) === true;

  const all = [
    configuration,
    metrics,
    ...credentials,
    { findings: others },
    clocks,
    store,
    disk,
    { findings: lake.findings.filter((finding) => !isReported(finding)) },
    catalog,
    files,
    versions,
  ];
  const findings = all.flatMap((examination) =>
    examination.findings.map((finding) => withCommand(finding, { lake: location, config })),
  );
  const worst = (['fault', 'warning'] as const).find((state) => findings.some((finding) => finding.state === state));
  return { lake: location, at: isoInstant(clock.now()), state: worst ?? 'ok', findings };
}

/** A finding with the command that its text names, unless it has one. */
function withCommand(finding: DoctorFinding, scope: CommandScope): DoctorFinding {
  const found = withCommandsIn(scope, finding.found);
  const [, named] = /`([^`]*\bledgerlake \w[^`]*)`/.exec(found) ?? [];
  return { ...finding, found, command: finding.command ?? named ?? null };
}

/** A difference of clocks that is worth knowing; one of the margin by which ranges end before the present is a fault. */
const noticeableMs = 60_000;

/** `skews`: clocks of services minus ours, in milliseconds. */
function examineClock(skews: readonly number[], add: AddFinding): void {
  const [largest] = skews.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (largest === undefined) {
    add({ state: 'ok', found: 'not compared, as no service has answered' });
    return;
  }
  const ms = Math.abs(largest);
  if (ms < noticeableMs) {
    add({ state: 'ok', found: `equal to those of the services, to ${formatSpan(Math.max(ms, 1000))}` });
    return;
  }
  const found = `${formatSpan(ms)} ${largest > 0 ? 'behind' : 'ahead of'} that of a service; set the clock of this machine`;
  add({ state: ms < rangeMarginMs ? 'warning' : 'fault', found, command: 'timedatectl set-ntp true' });
}

/** The versions of the programs, and those that the lake needs. */
async function examineVersions(lake: Lake | undefined, add: AddFinding): Promise<void> {
  const { duckdbVersion } = await import('../../core/duckdb/connection.js');
  add({ state: 'ok', found: `ledgerlake ${version}, Node ${process.version}, DuckDB ${duckdbVersion()}` });
  if (lake === undefined || lake.snapshot.isEmpty) return;
  const { minReaderVersion, minWriterVersion } = lake.snapshot.state;
  const needed = `the lake needs reader version ${minReaderVersion} and writer version ${minWriterVersion}`;
  const own = `this program has ${supported.minReaderVersion} and ${supported.minWriterVersion}`;
  const isNewer = minWriterVersion > supported.minWriterVersion;
  add({ state: isNewer ? 'fault' : 'ok', found: `${needed}, ${own}${isNewer ? '; install the newer program' : ''}` });
}

const styles = { ok: 'good', warning: 'warn', fault: 'bad' } as const satisfies Record<DoctorState, string>;

/** The report for people, group by group. */
function findingLines({ findings }: DoctorReport, width: number, paint: Paint): string[] {
  const indent = ' '.repeat(11);
  const findingLines = ({ state, found, command }: DoctorFinding): string[] => {
    const [first = '', ...others] = wrapWords(printable(found), width - indent.length);
    return [
      `  ${paint(styles[state], state.padEnd(7))}  ${first}`,
      ...others.map((line) => indent + line),
      ...(command === null ? [] : [`${indent}  ${printable(command)}`]),
    ];
  };
  const groups = [...groupBy(findings, ({ group }) => group)];
  const count = (state: DoctorState) => findings.filter((finding) => finding.state === state).length;
  const faults = count('fault');
  const verdict = faults === 0 ? 'Nothing has to be done' : `${formatCount(faults, 'fault')} to mend`;
  return [
    ...groups.flatMap(([group, members]) => [group, ...members.flatMap(findingLines)]),
    '',
    `${verdict}; ${formatCount(count('warning'), 'warning')}, ${count('ok')} ok`,
  ];
}
