import { spanIn } from '../../lake/catalog/load-key.js';
import { plainLog } from '../../observe/log/plain-log.js';
import type { Clock } from '../../core/clock.js';
import { shortInstant } from '../../core/numeric/instant.js';
import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import { isEmpty, missingText } from '../../lake/existing-lake.js';
import { sizeFault } from '../../lake/files/local-file.js';
import { Lake } from '../../lake/lake.js';
import { openStore } from '../../lake/store/open-store.js';
import { deadText, leaseText } from '../../lake/leases.js';
import { backedUpLake } from '../../lake/upkeep/backup-notes.js';
import { listingGapText } from '../../sources/finances/api-v0/listing-gaps.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { catalogVersion } from '../catalog-version.js';
import { completeText, lagFailure } from '../load/freshness.js';
import { damagedFileRemedy, type RowsToReread } from '../coverage/damaged-rows.js';
import { remedyCommand, type NamedLake } from '../remedy.js';
import { coverageText, type AccountCoverage, type StatusFacts } from '../status/lake-status.js';
import { readStatus, type StatusQuery } from '../status/status.js';
import { firstLoad, nextSync, type Suggestion } from '../status/suggestions.js';
import { unreadText } from '../unread-events.js';
import { catalogChainCheck, checkCatalog } from '../verify/checks/catalog-chain.js';
import { publishedLogsCheck } from '../verify/checks/published-logs.js';
import { CertificateBuilder, problemRemedy } from '../verify/common/check.js';
import type { AddFinding, Finding } from './findings.js';

interface FreshnessQuery extends StatusQuery {
  /** The greatest age of an account's data. */
  readonly maxLagMs: number;
  /** Whether a location without a lake is a fault. */
  readonly mustExist: boolean;
}

/** A lake, and its status, which is undefined where nothing is there yet. */
interface ExaminedLake {
  readonly lake: Lake;
  readonly report: StatusFacts | undefined;
}

/**
 * Examines the runs of a lake, and the freshness, the gaps and the unread events of its accounts.
 *
 * @throws LedgerlakeError as `readStatus`
 */
export async function examineLake(query: FreshnessQuery, clock: Clock, add: AddFinding): Promise<ExaminedLake> {
  const store = openStore(query.lake, { clock });
  if (await isEmpty(store)) {
    add({ state: query.mustExist ? 'fault' : 'warning', found: missingText(query.lake) });
    return { lake: await Lake.open(store, tables, clock), report: undefined };
  }
  const log = (found: string) => {
    add({ state: 'warning', found });
  };
  const report = await readStatus(query, { clock, emit: plainLog(log) });
  const { location, lastRuns, runs, statuses, unloaded, first, suggestionContext } = report;
  if (first !== undefined) add({ state: 'warning', ...suggested(`${location} has nothing yet`, first) });
  for (const coverage of statuses) addAccount(coverage, report, query, add);
  for (const suggestion of unloaded) {
    add({
      account: suggestion.account,
      state: 'warning',
      ...suggested(`${suggestion.account}: nothing loaded yet`, suggestion),
    });
  }
  for (const lease of runs.active) add({ state: 'ok', found: `a run is active: ${leaseText(lease)}` });
  for (const lease of runs.dead) {
    log(`a run died: ${deadText(lease)}`);
  }
  for (const { account, status, command, endedAt, code, failure } of lastRuns.values()) {
    if (status !== 'failed' || (query.account !== undefined && query.account !== account)) continue;
    const found = `${account}: the last run failed: ${command}, ${shortInstant(Date.parse(endedAt))}, ${code ?? ''}: ${failure ?? ''}`;
    const isOfAccount = (candidate: { readonly account: string }) => candidate.account === account;
    const coverage = statuses.find(isOfAccount);
    const remedy =
      coverage === undefined
        ? (unloaded.find(isOfAccount) ?? firstLoad(account, [], suggestionContext))
        : loadOf(coverage, suggestionContext);
    add({ account, state: 'warning', ...(remedy === undefined ? { found } : suggested(found, remedy)) });
  }
  return { lake: report.lake, report };
}

/** What is missing before the end of the range; what is missing at its end is the next sync's. */
function lackingIn({ pipelines, range }: AccountCoverage): AccountCoverage['pipelines'] {
  return pipelines.filter(({ gaps, takenOut }) => takenOut.length > 0 || gaps.some(({ end }) => end < range.end));
}

/** The one command that loads what an account lacks: the gaps, else what is new. */
function loadOf(coverage: AccountCoverage, context: StatusFacts['suggestionContext']): Suggestion {
  const hasGaps = lackingIn(coverage).length + coverage.unfinished.length > 0;
  return (hasGaps ? coverage.load : undefined) ?? nextSync(coverage, context);
}

/** A finding with the command that mends it, and what else that needs. */
function suggested(found: string, { command, additions }: Suggestion): Pick<Finding, 'found' | 'command'> {
  return { found: additions.length === 0 ? found : `${found}; ${additions.join(', ')}`, command };
}

function addAccount(
  coverage: AccountCoverage,
  { location, now, lastRuns, suggestionContext }: StatusFacts,
  { maxLagMs, config }: FreshnessQuery,
  add: AddFinding,
): void {
  const { account, freshness, behind, openGroups, groupsToLoad, missingSettlements, holes } = coverage;
  const addFinding = (state: Finding['state'], finding: Pick<Finding, 'found' | 'command'>): void => {
    add({ account, state, ...finding, found: `${account}: ${finding.found}` });
  };
  const sync = nextSync(coverage, suggestionContext);
  const about = { remedy: 'run', subject: 'it', unfinished: behind };
  const lag = freshness === undefined ? undefined : lagFailure(freshness, maxLagMs, now, about);
  if (lag !== undefined)
    addFinding('fault', suggested(lag.message.replace(/; run$/, ''), loadOf(coverage, suggestionContext)));
  else if (freshness !== undefined) {
    const open = openGroups.length === 0 ? '' : `, ${formatCount(openGroups.length, 'open settlement')}`;
    addFinding('ok', { found: `${completeText(freshness)}, ${formatSpan(now - freshness.coveredTo)} ago${open}` });
  }
  const lacking = lackingIn(coverage);
  if (coverage.load !== undefined && lacking.length + coverage.unfinished.length > 0) {
    const texts = [
      ...lacking.map(({ pipeline, days, takenOut }) =>
        takenOut.length > 0
          ? `${pipeline} lacks ${loadKeysText(takenOut)}, which repair took out`
          : `${pipeline} has gaps (${coverageText(days)})`,
      ),
      ...coverage.unfinished.map((name) => `${name} was requested and has not begun`),
    ];
    addFinding('fault', suggested(texts.join(', '), coverage.load));
  }
  if (groupsToLoad.length > 0) {
    const found = `${formatCount(groupsToLoad.length, 'settlement')} listed, of which the events are not loaded`;
    addFinding('warning', suggested(found, sync));
  }
  for (const hole of missingSettlements) addFinding('warning', suggested(listingGapText(hole), sync));
  if (coverage.loadReports !== undefined) {
    addFinding(
      'warning',
      suggested(
        'the service keeps settlement reports for 90 days, and has some that are not loaded',
        coverage.loadReports,
      ),
    );
  }
  const named: NamedLake = { location, lastRuns, config };
  for (const hole of holes.slice(0, mostHoles)) {
    const range = spanIn('window', hole.load_key);
    const reread = range && { kind: 'reread' as const, pipeline: hole.pipeline, account, range };
    const command = reread && hole.file === undefined ? remedyCommand(reread, named) : undefined;
    addFinding('warning', { found: `could not be read: ${unreadText(hole)}`, command });
  }
  const more = holes.length - mostHoles;
  if (more > 0) addFinding('warning', { found: `could not be read: ${formatCount(more)} more; status lists them` });
}

/** Events of an account that could not be read and are listed. */
const mostHoles = 10;

/** Problems of the catalog, and data files, that are listed. */
const mostListed = 3;

/**
 * Walks the chain of commits, and compares the published logs with it, as `verify` does.
 *
 * @returns the files with problems that are findings
 */
export async function examineCatalog(
  report: StatusFacts | undefined,
  config: string | undefined,
  add: AddFinding,
): Promise<readonly string[]> {
  const version = report === undefined ? null : catalogVersion(report.lake);
  if (report === undefined || version === null) return [];
  const { lake, location, lastRuns, runs } = report;
  const certificate = new CertificateBuilder([catalogChainCheck, publishedLogsCheck]);
  await checkCatalog({ lake, runs, expected: undefined, certificate });
  const problems = certificate.problems();
  const listed = problems.slice(0, mostListed);
  for (const found of listed) {
    const { table, file, problem } = found;
    const remedy = problemRemedy(found, lake);
    add({
      state: found.kind === 'lake' ? 'fault' : 'warning',
      found: [table, problem.includes(file) ? '' : file, problem].filter((text) => text !== '').join(' '),
      command: remedy && remedyCommand(remedy, { location, lastRuns, config }),
    });
  }
  const more = problems.length - mostListed;
  if (more > 0)
    add({ state: 'fault', found: `${formatCount(more, 'more problem')} of the catalog; verify lists them` });
  if (problems.length > 0) return listed.map(({ file }) => file);
  const [commits = 0, versions = 0] = certificate.results().map(({ checked }) => checked);
  add({
    state: 'ok',
    found: `catalog ${version.version}:${version.hash}; ${formatCount(commits, 'commit')} chained, ${formatCount(versions, 'published version')} equal to them`,
  });
  return [];
}

/** Compares the names and the sizes of the data files with the catalog. It doesn't read them. */
export async function examineFiles(
  report: StatusFacts | undefined,
  config: string | undefined,
  add: AddFinding,
): Promise<void> {
  if (report === undefined || report.lake.snapshot.isEmpty) return;
  const { lake, location, lastRuns } = report;
  let [count, bytes] = [0, 0];
  const faults: { readonly rows: RowsToReread; readonly found: string }[] = [];
  for (const { name } of lake.tables) {
    const sizes = new Map<string, number>();
    for await (const { path, size } of lake.store.list(name)) sizes.set(path, size);
    const differing: DataFile[] = [];
    for (const dataFile of lake.snapshot.files(name)) {
      [count, bytes] = [count + 1, bytes + dataFile.size];
      if (sizes.get(dataFile.lakePath) !== dataFile.size) differing.push(dataFile);
    }
    // A run may have replaced them meanwhile.
    if (differing.length > 0) await lake.refresh();
    for (const dataFile of differing) {
      if (lake.snapshot.file(name, dataFile.path) === undefined) continue;
      const file = dataFile.lakePath;
      const size = sizes.get(file);
      const [first = '', ...others] = dataFile.loadKeys;
      const found = `${file}: ${size === undefined ? 'it is missing' : sizeFault(dataFile, size)}`;
      faults.push({ found, rows: { table: name, file, loadKey: others.length === 0 ? first : '' } });
    }
  }
  const of = await backedUpLake(lake.store, location, lake.snapshot.version);
  for (const { found, rows } of faults.slice(0, mostListed)) {
    const remedy = of === undefined ? damagedFileRemedy(rows, lake) : ({ kind: 'backup', of } as const);
    add({ state: 'fault', found, command: remedy && remedyCommand(remedy, { location, lastRuns, config }) });
  }
  const more = faults.length - mostListed;
  if (more > 0) add({ state: 'fault', found: `${formatCount(more, 'more file')} missing or of another size` });
  if (faults.length > 0) return;
  const all = `${formatCount(count, 'data file')}, ${formatBytes(bytes)}`;
  add({ state: 'ok', found: `${all}: all are there, with their sizes; verify reads them` });
}
