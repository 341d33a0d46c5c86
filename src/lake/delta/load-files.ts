import type { Add } from './actions.js';
import { accountOf, unitsOf } from './file-tags.js';

type ByUnit = Map<string, readonly Add[]>;

/**
 * Files by the units whose rows they hold, so that a commit needn't go through all files of an account. Only of accounts that
 * were asked for.
 */
export class UnitFiles {
  readonly #byAccount = new Map<string, Map<string, ByUnit>>();

  /** Those of an account and a pipeline that hold any of the units; `files` gives all of the account, the first time. */
  with(account: string, pipeline: string, units: Iterable<string>, files: (account: string) => Iterable<Add>): Add[] {
    let own = this.#byAccount.get(account);
    if (own === undefined) {
      this.#byAccount.set(account, (own = new Map<string, ByUnit>()));
      for (const add of files(account)) note(own, add);
    }
    const byUnit = own.get(pipeline);
    if (byUnit === undefined) return [];
    const found = new Set<Add>();
    for (const unit of units) for (const add of byUnit.get(unit) ?? []) found.add(add);
    return [...found];
  }

  note(add: Add): void {
    const own = this.#byAccount.get(accountOf(add) ?? '');
    if (own !== undefined) note(own, add);
  }

  forget(add: Add): void {
    const byUnit = this.#byAccount.get(accountOf(add) ?? '')?.get(add.tags?.['pipeline'] ?? '');
    if (byUnit === undefined) return;
    for (const unit of unitsOf(add)) {
      const left = byUnit.get(unit)?.filter((other) => other !== add) ?? [];
      if (left.length > 0) byUnit.set(unit, left);
      else byUnit.delete(unit);
    }
  }

  clear(): void {
    this.#byAccount.clear();
  }
}

function note(own: Map<string, ByUnit>, add: Add): void {
  const pipeline = add.tags?.['pipeline'] ?? '';
  let byUnit = own.get(pipeline);
  if (byUnit === undefined) own.set(pipeline, (byUnit = new Map<string, readonly Add[]>()));
  for (const unit of unitsOf(add)) byUnit.set(unit, [...(byUnit.get(unit) ?? []), add]);
}
