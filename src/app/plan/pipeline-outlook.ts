import { spanOfGroup } from '../../sources/finances/api-v0/group-slices.js';
import { orderEventsPipeline } from '../../../pipelines/order-events.js';
import type { FinancesUpstream } from '../../sources/finances/api-v0/upstream.js';
import type { Job, Pipeline } from '../../engine/run/pipeline.js';
import { loadedSamples, windowSlice } from '../../engine/run/window-slices.js';
import { listWork, type Work } from '../../engine/run/work.js';
import { byDate, byGroup, listing } from '../verify/main-tables.js';
import {
  groupExpectation,
  listingExpectation,
  orderExpectation,
  windowExpectation,
  type Expectation,
} from '../../engine/slicing/volume-estimate';
import { groupSamples, heldOrders, heldWindows, type Held } from './holdings.js';
import type { Learned } from './learned.js';
import { mostAtOnce } from '../../sources/finances/api-v0/slicing/settlements-ahead';
import { settlementsOf } from './settlements.js';

/** What lies before a pipeline. */
export interface PipelineOutlook {
  readonly work: Work;
  /** Undefined: nothing is known of what slices hold. */
  readonly expectation: Expectation | undefined;
  readonly held: Held;
  /** Slices for settlements that nobody has listed yet. */
  readonly unlisted: number;
  /** False where there may be slices that nobody knows of. */
  readonly isListed: boolean;
  /** False where the expectation is of requests only. */
  readonly isCounted: boolean;
}

export interface OutlookQuestion {
  readonly job: Job;
  readonly learned: Learned;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const usual = { unlisted: 0, isListed: true, isCounted: true };

/** What a pipeline has to do, and what it is expected to meet. */
export function outlookOf(pipeline: Pipeline<FinancesUpstream>, question: OutlookQuestion): PipelineOutlook {
  const { job, learned, now } = question;
  const { lake, account, range } = job;
  const { name } = pipeline;
  const main = pipeline.tables.at(-1)?.name ?? '';
  switch (name) {
    case byGroup.pipeline:
      return groupOutlook(question);
    case orderEventsPipeline.name: {
      const held = heldOrders(lake, name, main, account);
      const isCounted = held.units > 0;
      const expectation = orderExpectation(isCounted ? held.events / held.units : 0);
      return { ...usual, work: pipeline.work(job), expectation, held, isCounted };
    }
    case listing.pipeline: {
      const { listed, ahead, isSeen } = settlementsOf(job, learned, now);
      const starts = [...listed, ...ahead].map(({ opened }) => opened);
      const expectation = isSeen ? listingExpectation(starts) : undefined;
      const held = heldWindows(lake, name, main, account, range);
      return { ...usual, work: pipeline.work(job), expectation, held };
    }
    default: {
      const work = pipeline.work(job);
      const asked = name === byDate.pipeline ? learned.events : [];
      for (const { window, results } of asked) {
        work.learn(windowSlice(window), { pages: 1, results, reach: window.end, isWhole: true });
      }
      const expectation = windowExpectation([...loadedSamples(lake, name, main, account), ...asked], pipeline.perPage);
      return { ...usual, work, expectation, held: heldWindows(lake, name, main, account, range) };
    }
  }
}

/** Settlements that are listed or were asked for, and those that are to be expected where nobody has looked yet. */
function groupOutlook({ job, learned, now }: OutlookQuestion): PipelineOutlook {
  const { lake, account, range, refresh } = job;
  const { listed, loaded, ahead, spans, isSeen } = settlementsOf(job, learned, now);
  const isInRange = ({ opened }: { readonly opened: number }): boolean => opened >= range.start && opened < range.end;
  const done = new Set(refresh ? [] : loaded.map(({ slice }) => slice.name));
  const wanted = [...listed, ...ahead].filter((slice) => isInRange(slice) && !done.has(slice.name));
  const inside = loaded.filter(({ slice }) => isInRange(slice));
  const dated = [...loadedSamples(lake, byDate.pipeline, byDate.table, account), ...learned.events];
  return {
    ...usual,
    work: listWork(
      wanted.toSorted((a, b) => a.opened - b.opened),
      'group',
      spanOfGroup,
    ),
    expectation: groupExpectation({ loaded: groupSamples(loaded, now), byDate: dated, atOnce: mostAtOnce(spans), now }),
    held: {
      units: inside.length,
      days: null,
      events: Math.round(inside.reduce((sum, { events }) => sum + events, 0)),
    },
    unlisted: ahead.filter(isInRange).length,
    isListed: isSeen,
  };
}
