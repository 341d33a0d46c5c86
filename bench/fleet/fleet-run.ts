import { nightlySecond } from '../../src/app/fleet/nightly.js';
import {
  afterTurn,
  isTurnOver,
  newcomer,
  turnLength,
  turnPriority,
  type Standing,
  type JobKind,
} from '../../src/app/fleet/turns.js';
import { dayMs } from '../../src/core/windows.js';
import { syncOf, type Account } from './account.js';
import { isDone } from './backlog.js';
import { Chance } from './chance.js';
import { lapses, noOutage, stalledAt } from './locks.js';
import { OpenWork } from './open-work.js';
import { QueueModel } from './queue-model.js';
import type { Scenario } from './scenario.js';
import type { EndedTurn, Outcome, Told } from './told.js';
import { Timeline } from './timeline.js';
import { drainedFrom, jobOf, planOf, settle, type AccountJob, type Read } from './turn.js';
import { WorkerModel, type Run } from './worker-model.js';

/** Between two looks whether a turn is over. */
const lookMs = 5000;

/**
 * Lets a fleet work for so many days, on a clock of its own, by the policy of `src/app/fleet`. It is long because what happens
 * to queue, workers and Redis calls each other in circles, over one state.
 */
export function runFleet(scenario: Scenario, accounts: readonly Account[], told: Told): Outcome {
  const { seed, start, days, workers: workerCount, places, turnMs, night, server, costs, troubles } = scenario;
  const end = start + days * dayMs;
  const timeline = new Timeline(start);
  const queue = new QueueModel<AccountJob>();
  const chance = new Chance(seed, -1);
  const random = (): number => chance.share();
  const jobs = new Map<Account, AccountJob>();
  const running = new Map<AccountJob, Run>();
  const open = new OpenWork(told);
  const workers = Array.from({ length: workerCount }, (_, id) => {
    const worker: WorkerModel = new WorkerModel(id, timeline, (run) => {
      endTurn(worker, run);
    });
    return worker;
  });
  /** Workers with room, who asked first. */
  let idle = [...workers];
  let outage = noOutage;
  let wakesAt = Infinity;

  const isAway = (): boolean => timeline.now() < outage.to;
  const priorityOf = (work: JobKind, standing: Standing, at: number): number =>
    turnMs === undefined ? 1 : turnPriority(work, standing, at);
  const workOf = (job: AccountJob): JobKind | undefined =>
    job.isSyncAsked || job.account.sync !== undefined ? 'sync' : isDone(job.account.backfill) ? undefined : 'backfill';

  /** Gives free places jobs. */
  const dispatch = (): void => {
    if (isAway()) return;
    const later: WorkerModel[] = [];
    for (let worker = idle.shift(); worker !== undefined; worker = idle.shift()) {
      if (!worker.isAlive) continue;
      const job = queue.take(timeline.now());
      if (job === undefined) {
        later.push(worker);
        break;
      }
      beginTurn(worker, job);
      if (worker.runs.size < places) idle.push(worker);
    }
    idle = [...later, ...idle];
    const next = queue.nextDelayed;
    if (next === undefined || idle.length === 0 || (wakesAt > timeline.now() && wakesAt <= next)) return;
    wakesAt = next;
    timeline.at(next, dispatch);
  };

  const free = (worker: WorkerModel): void => {
    if (worker.isAlive && worker.runs.size < places && !idle.includes(worker)) idle.push(worker);
  };

  const put = (job: AccountJob, from: number): void => {
    const now = timeline.now();
    job.askedAt = from;
    if (!isAway()) queue.add(job, from, now);
    else
      timeline.at(outage.to, () => {
        put(job, from);
        dispatch();
      });
  };

  /** To the dead letters. */
  const giveUp = (job: AccountJob): void => {
    told.dead?.(job.account, timeline.now());
    leaveQueue(job);
  };

  const leaveQueue = (job: AccountJob): void => {
    jobs.delete(job.account);
    timeline.at(outage.to, () => {
      queue.finish(job);
      dispatch();
    });
  };

  const ask = (account: Account, work: JobKind): void => {
    const now = timeline.now();
    let job = jobs.get(account);
    if (work === 'sync') open.syncAsked(account, now);
    if (job === undefined) {
      job = jobOf(account);
      jobs.set(account, job);
      job.isSyncAsked = work === 'sync';
      job.priority = priorityOf(work, newcomer, now);
      put(job, now);
      dispatch();
      return;
    }
    if (work !== 'sync') return;
    job.isSyncAsked = true;
    if (!running.has(job) && !isAway())
      queue.changePriority(job, Math.min(job.priority, priorityOf('sync', job.standing, now)));
  };

  const beginTurn = (worker: WorkerModel, job: AccountJob): void => {
    const now = timeline.now();
    const { account } = job;
    if (job.wasCutOff) {
      const cutOff = { end: 'transient', ranMs: 0, hasCommitted: false } as const;
      const after = afterTurn(job.standing, cutOff, random);
      if (after.next === 'dead') {
        giveUp(job);
        return;
      }
      job.standing = after.standing;
    }
    // A job that was put back although its turn had come to its end finds nothing to do.
    const work = workOf(job) ?? 'backfill';
    if (work === 'sync') job.isSyncAsked = false;
    const backlogs = work === 'sync' ? syncOf(account, now).backlogs : account.backfill;
    const latency = 1000 * chance.logNormal(server.latency, server.latencySpread);
    const fault = account.isDenied
      ? ({ why: 'permanent', share: 0 } as const)
      : chance.happens(troubles.faults)
        ? ({ why: 'transient', share: chance.share() } as const)
        : undefined;
    const run = worker.begin(job, planOf(account, work, backlogs, now, latency, costs, fault));
    running.set(job, run);
    const least = turnLength(now - job.askedAt, turnMs);
    if (turnMs !== undefined && run.plan.end - now > least)
      timeline.at(now + least, () => {
        look(worker, run);
      });
  };

  /** Ends a turn that has lasted long enough where somebody else is to go first. */
  const look = (worker: WorkerModel, run: Run): void => {
    if (!worker.runs.has(run) || run.isDraining) return;
    const now = timeline.now();
    const { job, plan } = run;
    const turn = {
      kind: plan.work,
      standing: job.standing,
      waitedMs: run.takenAt - job.askedAt,
      ranMs: now - run.takenAt,
      firstWaiting: queue.firstPriority,
      hasUrgentJob: plan.work === 'backfill' && job.isSyncAsked,
    };
    if (!isAway() && isTurnOver(turn, now, turnMs)) {
      worker.catchUp();
      run.isDraining = true;
      worker.replan(run, drainedFrom(plan, run.clock, costs));
    } else
      timeline.at(now + lookMs, () => {
        look(worker, run);
      });
  };

  const leave = (worker: WorkerModel, run: Run, why: EndedTurn['end'], isOrderly: boolean): readonly Read[] => {
    const now = timeline.now();
    const { job, plan, takenAt, clock } = run;
    worker.end(run);
    running.delete(job);
    job.wasCutOff = false;
    const reads: readonly Read[] = settle(job.account, plan, clock, now - clock, isOrderly);
    // One that has brought something doesn't count as a failure.
    if (why === 'died') job.wasCutOff = !reads.some(({ kept }) => kept > 0);
    told.turnEnded?.({
      account: job.account,
      worker: worker.id,
      work: plan.work,
      takenAt,
      at: now,
      end: why,
      backlogs: plan.backlogs,
      reads,
    });
    return reads;
  };

  const endTurn = (worker: WorkerModel, run: Run): void => {
    const now = timeline.now();
    const { job, plan, takenAt } = run;
    const { account } = job;
    const reads = leave(worker, run, plan.why, plan.why !== 'transient' || troubles.keepsJournal);
    free(worker);
    open.tellDone(account, now);
    if (isAway() && lapses(outage, takenAt, troubles.lockMs)) {
      putBack(job, outage.to + troubles.checkMs);
      return;
    }
    const hasCommitted = reads.some(({ kept }) => kept > 0);
    const end = plan.why === 'transient' && isDone(plan.backlogs) ? 'done' : plan.why;
    const next = afterTurn(job.standing, { end, ranMs: now - takenAt, hasCommitted: hasCommitted }, random);
    if (next.next === 'dead') {
      giveUp(job);
      return;
    }
    const work = workOf(job);
    if (work === undefined) {
      leaveQueue(job);
      return;
    }
    job.standing = next.standing;
    job.priority = priorityOf(work, next.standing, now + next.delayMs);
    put(job, now + next.delayMs);
    dispatch();
  };

  /** Puts a job back whose worker has died, or lost its lock. */
  const putBack = (job: AccountJob, from: number): void => {
    timeline.at(from, () => {
      told.stalled?.(job.account, timeline.now());
      queue.stall(job);
      dispatch();
    });
  };

  const goAway = (lasts: number): void => {
    const now = timeline.now();
    outage = { from: now, to: now + lasts };
    timeline.at(outage.to, () => {
      for (const worker of workers) {
        worker.catchUp();
        for (const run of [...worker.runs]) {
          if (!lapses(outage, run.takenAt, troubles.lockMs)) continue;
          // Its worker can't renew the lock, and stops.
          leave(worker, run, 'died', troubles.keepsJournal);
          putBack(run.job, outage.to + troubles.checkMs);
        }
        free(worker);
      }
      dispatch();
    });
  };

  const die = (worker: WorkerModel): void => {
    const now = timeline.now();
    worker.catchUp();
    worker.isAlive = false;
    for (const run of [...worker.runs]) {
      leave(worker, run, 'died', troubles.keepsJournal);
      putBack(run.job, Math.max(outage.to, stalledAt(run.takenAt, now, troubles)));
    }
    timeline.at(now + troubles.restart * 1000, () => {
      worker.isAlive = true;
      free(worker);
      dispatch();
      dieLater(worker);
    });
  };
  const dieLater = (worker: WorkerModel): void => {
    if (troubles.daysBetweenDeaths > 0)
      timeline.at(timeline.now() + chance.wait(troubles.daysBetweenDeaths * dayMs), () => {
        die(worker);
      });
  };

  const nights = (account: Account): void => {
    const second = turnMs === undefined ? (night.startMs % dayMs) / 1000 : nightlySecond(account.name, night);
    for (let day = start; day < end; day += dayMs) {
      const at = day + second * 1000;
      if (at > account.joinsAt)
        timeline.at(at, () => {
          ask(account, 'sync');
        });
    }
  };

  for (const account of accounts) {
    timeline.at(account.joinsAt, () => {
      ask(account, 'backfill');
    });
    nights(account);
  }
  for (const worker of workers) dieLater(worker);
  for (const { at, lasts } of troubles.outages)
    timeline.at(start + at * 1000, () => {
      goAway(lasts * 1000);
    });
  for (let at = start; at < end; at += 60_000)
    timeline.at(at, () => {
      const busy = running.size;
      told.state?.({ at, waiting: queue.waiting, delayed: queue.delayed, busy });
    });
  timeline.runTo(end);
  for (const worker of workers) worker.catchUp();
  return {
    notSynced: open.notSynced(),
    cpuMs: workers.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    queueCalls: queue.calls,
  };
}
