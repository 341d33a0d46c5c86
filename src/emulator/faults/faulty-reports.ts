import { dayMs } from '../../core/windows.js';
import type { ReportBackend, SettlementReport } from '../../serve/reports-2021-06-30/report-backend.js';
import type { FaultInjector } from './fault-injector.js';
import type { FaultKind } from './fault-settings.js';
import {
  decimalComma,
  dottedDates,
  feesJoined,
  labelsRenamed,
  largestDivided,
  marketplaceBlank,
  settlementIn,
  shipmentAsOrder,
  textOfSettlement,
  type SettlementEdit,
} from './report-text.js';

/** How each fault changes the settlements that it hits, in this order. */
const edits = [
  ['fees-joined', feesJoined],
  ['shipment-as-order', shipmentAsOrder],
  ['labels-renamed', labelsRenamed],
  ['marketplace-blank', marketplaceBlank],
  ['decimal-comma', decimalComma],
  ['dotted-dates', dottedDates],
] as const satisfies readonly (readonly [FaultKind, SettlementEdit])[];

/** The faults that change the reports of a backend. */
const reportFaults: readonly FaultKind[] = [
  ...edits.map(([kind]) => kind),
  ...(['reports-overlap', 'report-restated', 'report-missing', 'windows-1252'] as const),
];

/** A report, and the settlement that it is of: a restated report has the settlement of the one before it. */
interface FaultyReport extends SettlementReport {
  readonly of: SettlementReport;
}

/**
 * A backend's settlement reports with everything that is known of Amazon's: documents that overlap, settlements that come again, and the forms
 * of other marketplaces. A fault hits a settlement in all documents alike, by its id.
 */
export function faultyReports(backend: ReportBackend, injector: FaultInjector): ReportBackend {
  if (!reportFaults.some((kind) => injector.has(kind))) return backend;
  const negative = new Map<string, boolean>();

  async function isNegative(report: SettlementReport): Promise<boolean> {
    const found = negative.get(report.id) ?? totalOf((await backend.documentOf(report)).text).startsWith('-');
    negative.set(report.id, found);
    return found;
  }

  async function reports(asOf: number): Promise<readonly FaultyReport[]> {
    const found: FaultyReport[] = [];
    for (const report of await backend.reports(asOf)) {
      if (injector.hitsItem('report-missing', report.id) && (await isNegative(report)))
        injector.count('report-missing');
      else found.push({ ...report, of: report });
    }
    return [...found, ...found.flatMap((report) => restated(injector, report.of, asOf))];
  }

  /** The lines of the settlement of a report. */
  async function linesOf({ id, of }: FaultyReport): Promise<string> {
    const settlement = settlementIn((await backend.documentOf(of)).text);
    const isEarlier = id === of.id && injector.hitsItem('report-restated', id);
    const kinds = edits.filter(([kind]) => injector.hitsItem(kind, of.id));
    for (const [kind] of kinds) injector.count(kind);
    const start = isEarlier ? largestDivided(settlement) : settlement;
    return textOfSettlement(kinds.reduce((rows, [, edit]) => edit(rows), start));
  }

  return {
    reports,
    documentOf: async (asked) => {
      const all = (await reports(asked.createdAt)).toSorted((a, b) => a.createdAt - b.createdAt);
      const at = all.findIndex(({ id }) => id === asked.id);
      const isOverlapping = injector.hitsItem('reports-overlap', asked.id);
      if (isOverlapping) injector.count('reports-overlap');
      const settlements = all.slice(
        isOverlapping ? Math.max(0, at + 1 - injector.amount('reports-overlap')) : at,
        at + 1,
      );
      const { text, encoding } = await backend.documentOf(all[at]?.of ?? asked);
      const [names = ''] = text.split('\n', 1);
      const blocks: string[] = [];
      for (const settlement of settlements) blocks.push(await linesOf(settlement));
      const isOtherwise = injector.hitsItem('windows-1252', asked.id);
      if (isOtherwise) injector.count('windows-1252');
      // The Japanese marketplace has an encoding of its own.
      const other = text.includes('\tJPY\t') ? 'shift_jis' : 'windows-1252';
      return { text: `${names}\n${blocks.join('')}`, encoding: isOtherwise ? other : encoding };
    },
  };
}

function totalOf(text: string): string {
  return settlementIn(text).header.get('total-amount') ?? '';
}

/** The later report of a settlement that is restated. */
function restated(injector: FaultInjector, report: SettlementReport, asOf: number): readonly FaultyReport[] {
  if (!injector.hitsItem('report-restated', report.id)) return [];
  const later = injector.amount('report-restated') * dayMs;
  const createdAt = report.createdAt + later;
  if (createdAt > asOf) return [];
  injector.count('report-restated');
  return [
    {
      ...report,
      id: `${report.id}2`,
      documentId: `${report.documentId}2`,
      createdAt,
      doneAt: report.doneAt + later,
      of: report,
    },
  ];
}
